// What both APIs say alike of a replay.
import { iso } from '../../http/contract/render.ts';
import type { SeenCall } from '../rules/replay-call.ts';
import type { Replay } from '../use-cases/replays.ts';

/** What stands beside the results. @param time how the API writes one */
export const renderFrame = (found: Replay, time = iso) => ({
  name: found.name,
  candidate: renderSide(found.candidate),
  window: {
    since: time(found.window.since),
    until: time(found.window.until),
    env: found.window.env,
  },
  calls_seen: found.callsSeen,
  calls_in_window: found.callsInWindow,
  truncated: found.truncated,
  results_left_out: found.leftOut,
  sessions: found.sessions.map(({ agentId, sessionId, calls, changed }) => ({
    agent_id: agentId,
    session_id: sessionId,
    calls,
    changed,
  })),
});

export const renderSide = ({ version, revisionHash }: Replay['candidate']) => ({
  version,
  revision_hash: revisionHash,
});

export const renderCall = (call: SeenCall, time = iso) => ({
  event_id: call.eventId,
  call_id: call.callId,
  agent_id: call.agentId,
  session_id: call.sessionId,
  tool_name: call.tool,
  timestamp: time(call.timestamp),
});
