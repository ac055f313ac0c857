// What both APIs say alike of a replay.
import { iso } from '../../http/contract/render.ts';
import type { SeenCall } from '../rules/replay-call.ts';
import type { Replay } from '../use-cases/replays.ts';

/** What stands beside the results. @param time how the API writes one */
export const renderFrame = (replay: Replay, time = iso) => ({
  name: replay.name,
  candidate: renderSide(replay.candidate),
  window: {
    since: time(replay.window.since),
    until: time(replay.window.until),
    env: replay.window.env,
  },
  calls_seen: replay.callsSeen,
  calls_in_window: replay.callsInWindow,
  truncated: replay.truncated,
  results_left_out: replay.leftOut,
  sessions: replay.sessions.map(({ agentId, sessionId, calls, changed }) => ({
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
