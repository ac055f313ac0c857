// `reeve-agent verify`: checks what the hub signed, offline: exports of the audit chain, line by line, and their signed
// heads; decision bundles of runs (verify-bundle.ts).
import { createReadStream } from 'node:fs';
import { createInterface } from 'node:readline';
import type { BundleVerdict, DecisionBundle } from '../evidence/bundle.ts';
import { ChainCheck } from '../evidence/chain.ts';
import { type Command, parseCommand, UsageError } from './command.ts';
import { nodeCrypto } from './signed.ts';
import { checkBundle, readBundle } from './verify-bundle.ts';

const help = `Usage: reeve-agent verify [options] FILE...

Checks exports of the audit chain (GET /v1/audit/export; - is standard input): that no line was changed, taken out, added
or moved, and that the signed head is of one of your keys. Parts that follow each other may be one file or several.
Where the hub keeps the newest links alone, an export begins with the signed head of the last link that is not kept.
Checks decision bundles (GET /v1/runs/{agent_id}/{session_id}/bundle): that one of your keys signed the bytes, and that
every event follows the one before it. Parts of one run, in their order: that each follows the one before it.

Options:
  --key HEX   a public key that you trust, 64 hex characters; several are separated by commas. Without one the chain is
              checked and its signature is not.
  --json      a list of {file, line, ok, message} instead of lines; line is null where the whole file is meant

Exit code: 0 when all is well, 1 when something is wrong, 2 for a wrong call.
`;

const summaryOf = (check: ChainCheck): string =>
  check.areKeysNamed ? check.summary() : `${check.summary()}: name the key with --key`;

function keysOf(text: string | undefined): readonly string[] {
  const keys = (text ?? '').split(',').filter((key) => key !== '');
  if (keys.some((key) => !/^[0-9a-f]{64}$/i.test(key))) {
    throw new UsageError('--key takes 64 hex characters; several keys are separated by commas');
  }
  return keys;
}

/** Why a part of a run does not follow the one before it; null when it does, or is no further part. */
function partProblem(before: DecisionBundle | null, part: DecisionBundle | null): string | null {
  const isFurther =
    part !== null && before?.agent_id === part.agent_id && before.session_id === part.session_id;
  const head = part?.prev_head ?? '';
  return !isFurther || head === '' || head === before?.chain_head
    ? null
    : 'does not follow the part of the run in the file before it';
}

/** What was found out about a file. */
interface Outcome {
  readonly file: string;
  /** Where in it; null: of the whole. */
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
    const input = file === '-' ? process.stdin : createReadStream(file);
    let line = 0;
    try {
      for await (const text of createInterface({ input, crlfDelay: Number.POSITIVE_INFINITY })) {
        line++;
        const wrong = text.trim() === '' ? null : await check.take(text);
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
