// Commands of programs that run in the process of the tests. A process of their own loads for ten times as long as they
// work, so of a command's many tests only those about the process itself start one.

/** Output and end of a command. */
export interface CommandRun {
  /** Null if a signal ended its process. */
  readonly code: number | null;
  readonly out: string;
  readonly err: string;
}

export interface RunOptions {
  /** Variables beside those of the tests. */
  readonly env?: { readonly [name: string]: string };
  /** Default: that of the tests. */
  readonly cwd?: string;
}

/**
 * Calls a command, and returns what it printed and its exit code. One call at a time: output, exit code, variables and
 * folder belong to the whole process.
 * @param command may not read standard input. Returns the exit code; without one, that of the process counts
 */
export async function runHere(
  command: () => Promise<number | undefined>,
  { env = {}, cwd = process.cwd() }: RunOptions = {},
): Promise<CommandRun> {
  const texts = { out: '', err: '' };
  const before = { cwd: process.cwd(), exitCode: process.exitCode };
  const restores = [
    replaceWrite(process.stdout, (text) => {
      texts.out += text;
    }),
    replaceWrite(process.stderr, (text) => {
      texts.err += text;
    }),
    ...Object.entries(env).map(([name, value]) => setVariable(name, value)),
  ];
  try {
    process.chdir(cwd);
    process.exitCode = undefined;
    const code = (await command()) ?? Number(process.exitCode ?? 0);
    return { code, ...texts };
  } finally {
    for (const restore of restores) restore();
    process.chdir(before.cwd);
    process.exitCode = before.exitCode;
  }
}

function replaceWrite(stream: NodeJS.WriteStream, take: (text: string) => void): () => void {
  const { write } = stream;
  stream.write = ((chunk: string | Uint8Array) => {
    take(typeof chunk === 'string' ? chunk : Buffer.from(chunk).toString());
    return true;
  }) as typeof write;
  return () => {
    stream.write = write;
  };
}

function setVariable(name: string, value: string): () => void {
  const before = process.env[name];
  process.env[name] = value;
  return () => {
    if (before === undefined) delete process.env[name];
    else process.env[name] = before;
  };
}
