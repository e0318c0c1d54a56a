#!/usr/bin/env python3
"""report.py RESULT.xml...: sums up CTest's JUnit files. again-PRESET.xml has a second run of what failed in test-PRESET.xml.
Lists what was skipped, what passed only in the second run, and what failed; the last line is `N passed, N failed`. The exit
status is 1 if a test failed or none was run."""
import os
import re
import sys
import xml.etree.ElementTree as xml

passed, failed, skipped, unreliable = 0, [], [], []
for path in sorted(sys.argv[1:], reverse=True):  # test-* before again-*
    kind, run = re.fullmatch(r"(test|again)-(.*)\.xml", os.path.basename(path)).groups()
    for case in xml.parse(path).getroot().iter("testcase"):
        name, status = "%s (%s)" % (case.get("name"), run), case.get("status")
        output = case.findtext("system-out") or ""
        # A file of tests may skip some of them and still pass: each says so in a line of its own.
        reasons = re.findall(r"^SKIPPED (.*)$", output, re.M)
        skipped += ["%s: %s" % (name, reason) for reason in reasons if kind == "test"]
        if status == "run":
            passed += 1
            if kind == "again":
                failed.remove(name)
                unreliable.append(name)
        elif kind == "again":
            pass  # it is among those that failed
        elif case.find("skipped") is not None:
            skipped += [] if reasons else [name]
        elif status != "disabled":
            failed.append(name)

if skipped:
    print("\nSKIPPED, %d:" % len(skipped))
    print("\n".join("  " + s for s in skipped))
if unreliable:
    print("\nPASSED ONLY WHEN RUN AGAIN, %d:" % len(unreliable))
    print("\n".join("  " + u for u in unreliable))
if failed:
    print("\nFAILED, %d:" % len(failed))
    print("\n".join("  " + f for f in failed))
print("\n%d passed, %d failed" % (passed, len(failed)))
sys.exit(1 if failed or not passed else 0)
