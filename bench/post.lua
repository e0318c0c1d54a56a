-- wrk: POST the file named by BODY, again and again. Whatever is not 200 is counted and printed at the end.
local f = assert(io.open(os.getenv("BODY"), "rb"))
wrk.method, wrk.body = "POST", f:read("*a")
f:close()
wrk.headers["Content-Type"] = wrk.headers["Content-Type"] or "application/json"

local threads = {}
function setup(thread) table.insert(threads, thread) end
function init() wrong = 0 end
function response(status) if status ~= 200 then wrong = wrong + 1 end end

function done(summary, latency)
  local wrong = summary.errors.connect + summary.errors.read + summary.errors.write + summary.errors.timeout
  for _, thread in ipairs(threads) do wrong = wrong + thread:get("wrong") end
  io.write(string.format("RESULT %d %d %d %d\n", summary.requests, summary.duration, latency:percentile(50), wrong))
end
