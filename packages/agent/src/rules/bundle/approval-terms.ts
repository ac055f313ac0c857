// Parts of an approval's terms without effect: approvers that nobody reads, a timeout that no hub accepts. Finds;
// refuses nothing.
import type { YamlPath } from '../yaml.ts';
import { type Entry, effectOf } from './entries.ts';
import { isMapping } from './reader.ts';
import type { Vocabulary } from './vocabulary.ts';

/** Seconds that a hub waits for a decision at most. It refuses a request with more. */
export const maxHubTimeout = 86_400;

interface TermsFinding {
  readonly code: 'approver-metadata' | 'approval-timeout';
  readonly path: YamlPath;
  /** One or two sentences. */
  readonly message: string;
}

/** Warnings about the approval of a contract. */
export function approvalDoubts(entry: Entry, words: Vocabulary): readonly TermsFinding[] {
  const { type, value, at } = entry;
  const findings: TermsFinding[] = [];
  const then = isMapping(value.then) ? value.then : {};
  const metadata = type === 'pre' && isMapping(then.metadata) ? then.metadata : {};
  const key = Object.keys(metadata).find((name) => /^approvers?$/i.test(name));
  if (key !== undefined) {
    const message =
      'metadata is recorded but chooses no approvers. Operators and admins of the hub decide; in a chat, the people ' +
      "in the channel's allowed_user_ids decide.";
    findings.push({ code: 'approver-metadata', path: [...at, 'then', 'metadata', key], message });
  }
  const [terms, path] = type === 'sandbox' ? [value, at] : [then, [...at, 'then']];
  const { timeout } = terms;
  if (typeof timeout === 'number' && timeout > maxHubTimeout && effectOf(entry, words) === 'approve') {
    const message =
      `A hub waits for a decision at most ${maxHubTimeout} seconds. It refuses a request with more, so released ` +
      `clients deny these calls without asking anybody. Set timeout to ${maxHubTimeout} or less.`;
    findings.push({ code: 'approval-timeout', path: [...path, 'timeout'], message });
  }
  return findings;
}
