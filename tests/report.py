#!/usr/bin/env python3
"""report.py RESULT.xml...: sums up CTest's JUnit files. Lists what was skipped and what failed; the last line is
`N passed, N failed`. The exit status is 1 if a test failed or none was run."""
import os
import re
import sys
import xml.etree.ElementTree as xml

passed, failed, skipped = 0, [], []
for path in sys.argv[1:]:
    run = re.sub(r"^test-|\.xml$", "", os.path.basename(path))
    for case in xml.parse(path).getroot().iter("testcase"):
        name, status = "%s (%s)" % (case.get("name"), run), case.get("status")
        output = case.findtext("system-out") or ""
        # A file of tests may skip some of them and still pass: each says so in a line of its own.
        reasons = re.findall(r"^SKIPPED (.*)$", output, re.M)
        skipped += ["%s: %s" % (name, reason) for reason in reasons]
        if status == "run":
            passed += 1
        elif case.find("skipped") is not None:
            skipped += [] if reasons else [name]
        elif status != "disabled":
            failed.append(name)

if skipped:
    print("\nSKIPPED, %d:" % len(skipped))
    print("\n".join("  " + s for s in skipped))
if failed:
    print("\nFAILED, %d:" % len(failed))
    print("\n".join("  " + f for f in failed))
print("\n%d passed, %d failed" % (passed, len(failed)))
sys.exit(1 if failed or not passed else 0)
