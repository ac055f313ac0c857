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
  /** True: without the variables of the tests, PATH excepted, so that none of a developer's changes the result. */
  readonly hasOnlyEnv?: boolean;
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
  { env = {}, hasOnlyEnv = false, cwd = process.cwd() }: RunOptions = {},
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
    replaceEnv(hasOnlyEnv ? { PATH: process.env.PATH ?? '', ...env } : { ...process.env, ...env }),
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
  stream.write = ((chunk: string | Uint8Array, ...rest: readonly unknown[]) => {
    take(typeof chunk === 'string' ? chunk : Buffer.from(chunk).toString());
    // Behind an encoding, or instead of it.
    const done = rest.at(-1);
    if (typeof done === 'function') process.nextTick(done);
    return true;
  }) as typeof write;
  return () => {
    stream.write = write;
  };
}

/** Parts of a program keep `process.env` itself, so its variables change and not the object. */
function replaceEnv(env: NodeJS.ProcessEnv): () => void {
  const before = { ...process.env };
  setEnv(env);
  return () => setEnv(before);
}

function setEnv(env: NodeJS.ProcessEnv): void {
  for (const name of Object.keys(process.env)) if (!Object.hasOwn(env, name)) delete process.env[name];
  Object.assign(process.env, env);
}
