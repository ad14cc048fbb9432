-- Hands out each request of a file once, for a stated time, then lets the connections fall silent, so that every
-- request that was handed out is also answered. Arguments: FILE SECONDS CONNECTIONS.
-- The file holds "LENGTH\nREQUEST" pieces.
local ffi = require("ffi")
ffi.cdef [[
typedef struct { long tv_sec; long tv_nsec; } bench_timespec;
int clock_gettime(int clock, bench_timespec *now);
]]
local stamp = ffi.new("bench_timespec")

local function now()
  ffi.C.clock_gettime(1, stamp)
  return tonumber(stamp.tv_sec) + tonumber(stamp.tv_nsec) / 1e9
end

local threads = {}

function setup(thread)
  table.insert(threads, thread)
end

function init(args)
  local file = assert(io.open(args[1], "rb"))
  local whole = file:read("*a")
  file:close()
  requests = {}
  local place = 1
  while place <= #whole do
    local stop = whole:find("\n", place, true)
    local length = tonumber(whole:sub(place, stop - 1))
    requests[#requests + 1] = whole:sub(stop + 1, stop + length)
    place = stop + length + 1
  end
  lasts = tonumber(args[2])
  connections = tonumber(args[3])
  handed, first, last = 0, 0, 0
end

function request()
  if first == 0 then
    -- wrk asks once before it begins, to see that the script works.
    first = -1
    return requests[1]
  end
  if first == -1 then
    first = now()
  end
  handed = handed + 1
  last = now()
  return requests[handed]
end

function delay()
  -- Every other connection may have been let through already and ask after this.
  if first > 0 and (now() - first > lasts or handed + connections >= #requests) then
    return 3600000
  end
  return 0
end

function done(summary, latency)
  local thread = threads[1]
  local errors = summary.errors
  io.stderr:write(string.format(
    "LOAD %d %d %.6f %.3f %.3f %d %d\n",
    thread:get("handed"), summary.requests, thread:get("last") - thread:get("first"),
    latency:percentile(50) / 1000, latency:percentile(99) / 1000, errors.status,
    errors.connect + errors.read + errors.write + errors.timeout))
end
