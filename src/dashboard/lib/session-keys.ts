// The keys under which agents count what a session did: all client libraries use the same.
import { sha256 } from './sha256.ts';

const hex = (bytes: Uint8Array): string =>
  [...bytes].map((byte) => byte.toString(16).padStart(2, '0')).join('');

/** Names that keys cannot hold, or that are too long, stand in them by their hash (packages/agent, guard/counters). */
const keyPart = (name: string): string =>
  name.length <= 96 && /^[a-zA-Z0-9_.:/-]+$/.test(name)
    ? name
    : `h.${hex(sha256(new TextEncoder().encode(name))).slice(0, 40)}`;

export interface SessionKey {
  readonly key: string;
  /** What is counted under it. */
  readonly label: string;
  /** The tool whose executions it counts; absent for what counts them all. */
  readonly tool?: string;
}

/** @param tools those of the session; more than 90 do not fit into one answer */
export function sessionKeys(session: string, tools: readonly string[]): readonly SessionKey[] {
  const prefix = `s:${keyPart(session)}:`;
  return [
    { key: `${prefix}attempts`, label: 'Attempts' },
    { key: `${prefix}execs`, label: 'Executions' },
    { key: `${prefix}consec_fail`, label: 'Failures in a row' },
    ...tools
      .slice(0, 90)
      .map((tool) => ({ key: `${prefix}tool:${keyPart(tool)}`, label: 'Executions of', tool })),
  ];
}
