// `reeve-agent verify`: checks what the hub signed, offline: exports of the audit chain, line by line, and their signed
// heads; decision bundles of runs (verify-bundle.ts).
import { createReadStream } from 'node:fs';
import { createInterface } from 'node:readline';
import type { BundleVerdict, DecisionBundle } from '../evidence/bundle.ts';
import { type Command, parseCommand, UsageError } from './command.ts';
import { canonicalJson, envelopeBytes, isSignedBy, sha256 } from './signed.ts';
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

const headType = 'application/vnd.service.audit-head+json';
interface Link {
  readonly seq: number;
  readonly prev: string;
  readonly digest: string;
  readonly entry: unknown;
}

interface Head {
  readonly head: { readonly seq: number; readonly digest: string; readonly tenant_id: string };
  readonly sig: string;
}

const isLink = (value: unknown): value is Link => {
  const { seq, prev, digest } = (value ?? {}) as Partial<Link>;
  return Number.isSafeInteger(seq) && typeof prev === 'string' && typeof digest === 'string';
};
const isHead = (value: unknown): value is Head => {
  const { head, sig } = (value ?? {}) as Partial<Head>;
  return typeof sig === 'string' && typeof head === 'object' && head !== null;
};

/** Follows a chain line by line. */
export class ChainCheck {
  readonly #keys: readonly string[];
  #last: Link | null = null;
  #first = 0;
  #tenant: string | null = null;
  #head: Head | null = null;
  /** In front of the first link: the head of the last one that the hub no longer keeps. */
  #opening: Head['head'] | null = null;

  /** @param keys public keys that are trusted, as 64 hex characters each; none: signatures are not checked */
  constructor(keys: readonly string[]) {
    this.#keys = keys;
  }

  /** What is wrong with the next line; null when nothing is. */
  take(text: string): string | null {
    let value: unknown;
    try {
      value = JSON.parse(text);
    } catch {
      return 'is no JSON';
    }
    if (isLink(value)) return this.#link(value);
    return isHead(value) ? this.#signed(value) : 'is neither a link of the chain nor a signed head';
  }

  /** What is wrong with where the lines end; null when nothing is. */
  end(): string | null {
    if (!this.#last) return 'holds no links';
    if (!this.#head || this.#head.head.seq !== this.#last.seq) {
      return 'does not end with a signed head: links may have been cut off';
    }
    return null;
  }

  /** What was checked, as a sentence. */
  summary(): string {
    const signed =
      this.#keys.length > 0
        ? 'signed by a key that you trust'
        : 'signature not checked: name the key with --key';
    const before =
      this.#first === 1
        ? ''
        : this.#opening
          ? ` and follow the signed head of link ${this.#first - 1}, the last that is not kept`
          : `; what was before link ${this.#first} is not in here`;
    return `links ${this.#first} to ${this.#last?.seq ?? 0} are whole${before}; head ${signed}`;
  }

  #link(link: Link): string | null {
    const { seq, prev, digest, entry } = link;
    const last = this.#last ?? this.#opening;
    if (last && seq !== last.seq + 1) {
      return `is link ${seq}, and should be link ${last.seq + 1}: a line was taken out, added or moved`;
    }
    if (last ? prev !== last.digest : seq === 1 && prev !== '') {
      return `link ${seq} does not follow the link before it`;
    }
    if (sha256(canonicalJson({ seq, prev, entry })) !== digest) return `link ${seq} was changed`;
    if (!this.#last) this.#first = seq;
    this.#last = link;
    return null;
  }

  #signed(value: Head): string | null {
    const { head, sig } = value;
    if (!this.#last && this.#opening) return 'is a second head in front of the first link';
    if (!Number.isSafeInteger(head.seq) || typeof head.digest !== 'string') return 'is no signed head';
    if (this.#last && (head.seq !== this.#last.seq || head.digest !== this.#last.digest)) {
      return 'the signed head is not that of the link before it';
    }
    if (this.#tenant !== null && this.#tenant !== head.tenant_id)
      return 'the heads are of different workspaces';
    this.#tenant = head.tenant_id;
    if (this.#last) this.#head = value;
    else this.#opening = head;
    if (this.#keys.length === 0) return null;
    const bytes = envelopeBytes(headType, Buffer.from(canonicalJson({ head })));
    return isSignedBy(this.#keys, bytes, sig) ? null : 'the head is not signed by a key that you trust';
  }
}

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
  const check = new ChainCheck(keys);
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
        const wrong = text.trim() === '' ? null : check.take(text);
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
  yield { file: chain, line: null, ok: wrong === null, message: wrong ?? check.summary() };
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
