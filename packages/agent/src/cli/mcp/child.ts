// An MCP server as a child process, over its standard input and output.
import { type ChildProcess, spawn } from 'node:child_process';
import type { Readable } from 'node:stream';
import type { Clock } from '../../clock.ts';
import { processVariables } from '../../environment.ts';
import type { Connect, Connection } from './connection.ts';
import { lineWriter, MessageSizeError, readLines } from './lines.ts';
import { MessageError, readServerMessages, textOf } from './message.ts';

/** Time for a process to end by itself, and again after SIGTERM; milliseconds. */
const grace = 2000;
/** Time to read the output of a process after its end; its own children may hold the pipe open. Milliseconds. */
const outputGrace = 2000;

/** Variables that are the proxy's own: a server does not get the key of the hub. */
const isOwn = (name: string): boolean => name.startsWith('REEVE_');

/**
 * Ends the input of a process, and kills it when that does not end it. Resolves with `gone`, at the latest
 * `outputGrace` after the process ended.
 */
async function endChild(child: ChildProcess, gone: Promise<void>, clock: Clock): Promise<void> {
  child.stdin?.end();
  const timers = [
    clock.after(grace, () => child.kill('SIGTERM')),
    clock.after(2 * grace, () => child.kill('SIGKILL')),
  ];
  await gone;
  for (const timer of timers) timer.cancel();
}

/**
 * @param writeLog gets a sentence about output from the process that is no message
 * @param source not read while the process does not take what it is sent
 */
export function childServer(
  command: string,
  args: readonly string[],
  {
    clock,
    writeLog,
    source = null,
  }: { clock: Clock; writeLog: (text: string) => void; source?: Readable | null },
): Connect {
  return (events): Connection => {
    const env = Object.fromEntries(Object.entries(processVariables).filter(([name]) => !isOwn(name)));
    const child = spawn(command, args, { env, stdio: ['pipe', 'pipe', 'inherit'], windowsHide: true });
    const gone = new Promise<void>((resolve) => {
      child.once('close', () => resolve());
      child.once('error', () => resolve());
    });
    child.once('error', (failure) => events.ended(`cannot be started (${failure.message})`));
    let violation: MessageSizeError | null = null;
    let reportEnd = (): void => {};
    let isOutputRead = false;
    child.once('exit', (code, signal) => {
      const end = signal ?? `exit code ${code}`;
      const reason = violation ? `was stopped, because it wrote ${violation.message}` : `ended (${end})`;
      if (isOutputRead) return events.ended(reason);
      events.inputEnd();
      // The output may still contain answers. A descendant of the process can hold it open for ever.
      const timer = clock.after(outputGrace, () => child.stdout.destroy(), true);
      reportEnd = () => {
        timer.cancel();
        events.ended(reason);
      };
    });
    const write = lineWriter(child.stdin, () => source);
    readLines(child.stdout, {
      line: (text) => {
        try {
          for (const message of readServerMessages(text)) events.message(message);
        } catch (failure) {
          if (!(failure instanceof MessageError)) throw failure;
          writeLog(`the MCP server wrote an invalid message: ${text.slice(0, 200)}`);
        }
      },
      ended: (failure) => {
        if (failure instanceof MessageSizeError) violation = failure;
        if (failure) {
          child.kill('SIGKILL');
          child.stdout.destroy();
        }
        isOutputRead = true;
        reportEnd();
      },
    });
    return {
      output: child.stdout,
      send: (message) => write(textOf(message)),
      close: () => endChild(child, gone, clock),
    };
  };
}
