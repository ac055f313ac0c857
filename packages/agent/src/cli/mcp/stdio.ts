// The proxy for one agent, over the standard input and output of this process.
import type { Readable, Writable } from 'node:stream';
import { lineWriter, readLines } from './lines.ts';
import { codes, MessageError, readClientMessages, textOf } from './message.ts';
import { type OpenSession, openSession } from './open-session.ts';
import type { ProxyParts } from './proxy-parts.ts';
import { BackgroundServer } from './tasks/background-server.ts';

/** Time for open calls to end after the agent's last message; milliseconds. */
const lastWords = 2000;

/**
 * Serves until the agent ends its stream, the process is stopped, or the server fails at its start.
 * @param onChange takes what to do when other contracts are in use
 * @param stopped resolves when the process should end; default: never
 * @returns the exit code
 */
export async function serveStdio(
  proxy: ProxyParts,
  input: Readable,
  output: Writable,
  onChange: (task: () => void) => void,
  stopped: Promise<void> = new Promise(() => {}),
): Promise<number> {
  const { clock, tasks, sessionMeta } = proxy;
  const write = lineWriter(output, () => server.output);
  const writeError = (id: MessageError['id'], code: number, message: string): void =>
    write(JSON.stringify({ jsonrpc: '2.0', id, error: { code, message } }));
  let inputEnded = false;
  let end: (code: number) => void = () => {};
  const ended = new Promise<number>((resolve) => {
    end = resolve;
  });
  const { session, server }: OpenSession = openSession(proxy, {
    place: `process ${proxy.guard.sessionId}`,
    sessionMeta,
    tasks: tasks && { tasks, runner: () => session },
    isShared: false,
    toClient: (message) => write(textOf(message)),
    onIdle: () => {
      if (inputEnded) end(0);
    },
    failed: () => end(1),
  });
  onChange(() => session.toolsChanged());
  readLines(input, {
    line: (text) => {
      for (const message of readClientMessages(text)) {
        if (message instanceof MessageError) writeError(message.id, message.code, message.message);
        else session.fromClient(message);
      }
    },
    ended: (failure) => {
      if (failure) {
        writeError(null, codes.invalid, failure.message);
        return end(1);
      }
      // A script may end its input right behind its last request.
      inputEnded = true;
      if (!session.isBusy) end(0);
      else clock.after(lastWords, () => end(0), true);
    },
  });
  const background = new BackgroundServer(proxy);
  void tasks?.start(() => background);
  void stopped.then(() => end(0));
  const code = await ended;
  await tasks?.close();
  session.close();
  await Promise.all([server.close(), background.close()]);
  input.destroy();
  return code;
}
