// The keys of a session's counters, which are the same in all client libraries.
import { sha256 } from '@noble/hashes/sha2.js';
import { bytesToHex, utf8ToBytes } from '@noble/hashes/utils.js';

/** Names that are invalid or too long for keys are replaced by their hash (packages/agent, guard/counters). */
const keyPart = (name: string): string =>
  name.length <= 96 && /^[a-zA-Z0-9_.:/-]+$/.test(name)
    ? name
    : `h.${bytesToHex(sha256(utf8ToBytes(name))).slice(0, 40)}`;

export interface SessionKey {
  readonly key: string;
  /** Display name of the counter. */
  readonly label: string;
  /** The tool whose executions it counts. Undefined for all tools. */
  readonly tool?: string;
}

/** @param tools tools of the session. The first 90 are used, because more do not fit into one answer. */
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
