// `reeve-agent verify` checks signatures of the hub, offline: exports of the audit chain, line by line, with their
// signed heads, and decision bundles of runs (verify-bundle.ts).
import { createReadStream } from 'node:fs';
import type { BundleVerdict, DecisionBundle } from '../evidence/bundle.ts';
import { ChainCheck } from '../evidence/chain.ts';
import { type Command, parseCommand, UsageError } from './command.ts';
import { nodeCrypto } from './signed.ts';
import { checkBundle, readBundle } from './verify-bundle.ts';

const help = `Usage: reeve-agent verify [options] FILE...

Verifies exports of the audit chain (GET /v1/audit/export; - is standard input): no line was changed, removed, added or
moved, and one of your keys signed the head. Consecutive parts may be one file or several. If the hub keeps only the
newest links, an export begins with the signed head of the last removed link.
Verifies decision bundles (GET /v1/runs/{agent_id}/{session_id}/bundle): one of your keys signed the bytes, and every
event follows the one before it. Pass the parts of a run in their order: each must follow the one before it.
The command refuses a file that two readers can understand differently: duplicate members, or members without a signature.

Options:
  --key HEX   a public key that you trust, 64 hex characters; separate several by commas. Without a key, the command
              verifies the chain but not its signature.
  --json      print a list of {file, line, ok, message}; line is null if the entry is about the whole file

Exit code: 0 if every file is valid, 1 if a file is not, 2 for wrong arguments.
`;

const summaryOf = (check: ChainCheck): string =>
  check.areKeysNamed ? check.summary() : `${check.summary()}: name the key with --key`;

function keysOf(text: string | undefined): readonly string[] {
  const keys = (text ?? '').split(',').filter((key) => key !== '');
  if (keys.some((key) => !/^[0-9a-f]{64}$/i.test(key))) {
    throw new UsageError('--key must be 64 hex characters; separate several keys by commas');
  }
  return keys;
}

/** The gap between a part of a run and the part before; null without a gap, or for no further part. */
function partProblem(before: DecisionBundle | null, part: DecisionBundle | null): string | null {
  const isFurther =
    part !== null && before?.agent_id === part.agent_id && before.session_id === part.session_id;
  const head = part?.prev_head ?? '';
  return !isFurther || head === '' || head === before?.chain_head
    ? null
    : 'does not follow the part in the previous file';
}

/** Bytes of a line: more than the largest link has. */
const maxLine = 64 * 1024 * 1024;

/** Lines end at line feeds alone: other marks that some readers end lines at may stand in the text of an entry. */
async function* linesOf(input: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  let parts: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of input) {
    let from = 0;
    for (let at = chunk.indexOf(10); at >= 0; at = chunk.indexOf(10, from)) {
      yield Buffer.concat([...parts, chunk.subarray(from, at)]);
      parts = [];
      size = 0;
      from = at + 1;
    }
    parts.push(chunk.subarray(from));
    size += chunk.length - from;
    if (size > maxLine) throw new Error(`a line is longer than ${maxLine} bytes`);
  }
  if (size > 0) yield Buffer.concat(parts);
}

/** The problem of a line; null for a valid or empty one. */
async function problemOf(bytes: Uint8Array, check: ChainCheck): Promise<string | null> {
  let text: string;
  try {
    text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    return 'is not UTF-8 text';
  }
  return text.trim() === '' ? null : check.take(text);
}

/** Result for a file. */
interface Outcome {
  readonly file: string;
  /** Number of the line; null: the result is about the whole file. */
  readonly line: number | null;
  readonly ok: boolean;
  readonly message: string;
}

/** Of each file in turn, up to the first that is wrong. */
async function* outcomesOf(files: readonly string[], keys: readonly string[]): AsyncGenerator<Outcome> {
  const check = new ChainCheck(keys, nodeCrypto);
  let before: DecisionBundle | null = null;
  let chain: string | null = null;
  for (const file of files) {
    const bundle = file === '-' ? null : await readBundle(file);
    if (bundle !== null) {
      const { wrong: mistake, summary, payload }: BundleVerdict = await checkBundle(bundle, keys);
      const wrong: string | null = mistake ?? partProblem(before, payload);
      before = payload;
      const hint = keys.length > 0 ? '' : ': name the key with --key';
      yield { file, line: null, ok: wrong === null, message: wrong ?? `${summary}${hint}` };
      if (wrong !== null) return;
      continue;
    }
    chain = file;
    let line = 0;
    try {
      for await (const bytes of linesOf(file === '-' ? process.stdin : createReadStream(file))) {
        line++;
        const wrong = await problemOf(bytes, check);
        if (wrong === null) continue;
        yield { file, line, ok: false, message: wrong };
        return;
      }
    } catch (error) {
      const message = `cannot be read: ${error instanceof Error ? error.message : String(error)}`;
      yield { file, line: null, ok: false, message };
      return;
    }
  }
  if (chain === null) return;
  const wrong = check.end();
  yield { file: chain, line: null, ok: wrong === null, message: wrong ?? summaryOf(check) };
}

export const verifyCommand: Command = {
  help,
  async run(args) {
    const { values, positionals } = parseCommand(args, {
      key: { type: 'string' },
      json: { type: 'boolean' },
    });
    const outcomes: Outcome[] = [];
    for await (const outcome of outcomesOf(positionals, keysOf(values.key))) {
      outcomes.push(outcome);
      const { file, line, message } = outcome;
      if (!values.json) process.stdout.write(`${file}${line === null ? '' : `:${line}`}: ${message}\n`);
    }
    if (values.json) process.stdout.write(`${JSON.stringify(outcomes)}\n`);
    return outcomes.every(({ ok }) => ok) ? 0 : 1;
  },
};
