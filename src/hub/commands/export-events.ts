// `reeve export-events`: lines of an export, into a file or to standard output, until the end or for good.
import { parseArgs } from 'node:util';
import { connect } from '../as-code/connection.ts';
import { readClientVariables } from '../config.ts';
import { LineFile } from '../export-events/line-file.ts';
import { cursorOfLine, readLines } from '../export-events/line-source.ts';
import { print, say, UsageError } from './output.ts';

const kinds = ['events', 'approvals', 'audit'];
const formats = ['native', 'ocsf', 'cloudevents'];

const help = `reeve export-events --to FILE|- [--follow] [--kind KIND] [--format FORMAT]

Writes what the hub stored as NDJSON, in the order of its commits, each line once. The cursor is kept in FILE.cursor: the
next run, and a run after a kill, goes on behind the last line.

  --to FILE         append to FILE; - is standard output, and its reader keeps the cursor of the last line
  --follow          wait for new lines instead of ending
  --kind KIND       events, approvals or audit [events]
  --format FORMAT   native, ocsf or cloudevents [native]
  --after CURSOR    with --to -: go on behind the line with this cursor
  --allow-insecure  allow plain http to another machine
  --help            print this text

Settings: REEVE_URL (the hub), REEVE_TOKEN (token of a service account: viewer, for audit admin).
Exit code: 0 done or stopped by SIGTERM or SIGINT, 1 refused, 2 wrong usage.
`;

/** Seconds that a request of --follow waits. */
const followSeconds = 25;

interface Target {
  readonly cursor: string | null;
  append(text: string, cursor: string): void | Promise<void>;
}

/** Standard output. The reader keeps the cursor. */
function standardOutput(after: string | null): Target {
  let cursor = after;
  // The callback of a write has the error too. Without a listener, it would end the process first.
  process.stdout.on('error', () => {});
  return {
    get cursor() {
      return cursor;
    },
    async append(text, next) {
      await new Promise<void>((resolve, reject) => {
        process.stdout.write(text, (error) => (error ? reject(error) : resolve()));
      });
      cursor = next;
    },
  };
}

function readOptions(args: readonly string[]) {
  try {
    return parseArgs({
      args: [...args],
      options: {
        to: { type: 'string' },
        follow: { type: 'boolean' },
        kind: { type: 'string', default: 'events' },
        format: { type: 'string', default: 'native' },
        after: { type: 'string' },
        'allow-insecure': { type: 'boolean' },
        help: { type: 'boolean', short: 'h' },
      },
    }).values;
  } catch (error) {
    throw new UsageError(`${(error as Error).message} See reeve export-events --help.`);
  }
}

export async function exportEvents(args: readonly string[]): Promise<void> {
  const options = readOptions(args);
  if (options.help) return print(help.trimEnd());
  const { to, kind, format, after } = options;
  if (to === undefined || to === '') throw new UsageError('--to needs a file, or - for standard output.');
  if (!kinds.includes(kind)) throw new UsageError(`--kind is one of ${kinds.join(', ')}.`);
  if (!formats.includes(format)) throw new UsageError(`--format is one of ${formats.join(', ')}.`);
  if (after !== undefined && to !== '-')
    throw new UsageError('--after is for --to -: a file has its cursor beside it.');
  const variables = readClientVariables();
  const { url } = connect(variables, options['allow-insecure'] === true);
  const stop = new AbortController();
  for (const signal of ['SIGTERM', 'SIGINT'] as const) process.once(signal, () => stop.abort());
  const target = to === '-' ? standardOutput(after ?? null) : new LineFile(to);
  const wait = options.follow ? followSeconds : 0;
  const request = { url, token: variables.token.trim(), kind, format, wait };
  try {
    await copy(request, target, options.follow === true, stop.signal);
  } catch (error) {
    // Nobody reads standard output any more.
    const isClosed = error instanceof Error && 'code' in error && error.code === 'EPIPE';
    if (!stop.signal.aborted && !isClosed) throw error;
  }
}

async function copy(
  request: Parameters<typeof readLines>[0],
  target: Target,
  isFollowing: boolean,
  signal: AbortSignal,
): Promise<void> {
  let skipped: string | null = null;
  while (!signal.aborted) {
    const page = await readLines(request, skipped ?? target.cursor, signal, ({ message }) =>
      say(`${message} Asking again …`),
    );
    if (page.isExpired) {
      const count = page.removed === null ? 'Lines' : `At most ${page.removed} lines`;
      say(`${count} are missing: retention removed them before they were read.`);
      skipped = page.oldest;
      continue;
    }
    if (page.text === '') {
      if (!isFollowing && page.isComplete) return;
      skipped = page.next ?? skipped;
      continue;
    }
    const last = page.text.slice(page.text.lastIndexOf('\n', page.text.length - 2) + 1);
    await target.append(page.text, cursorOfLine(last));
    skipped = null;
  }
}
