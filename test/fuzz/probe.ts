// The fuzz program's side of the probe in the hub process (probe.mjs): hears of stalls of the event loop and of memory.
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

export interface Stall {
  readonly kind: 'stall';
  /** When it ended (ms since 1970). */
  readonly at: number;
  /** How late the event loop was. */
  readonly lateMs: number;
  /**
   * Of that: the main thread ran, or it was ready to run while others had the processors. The rest it waited for
   * something else.
   */
  readonly ranMs: number;
  readonly waitedMs: number;
  /** The code that ran longest, when the hub is profiled. */
  readonly functions: readonly string[];
}

export interface Memory {
  readonly kind: 'memory';
  /** True right after a full garbage collection. */
  readonly collected: boolean;
  /** Bytes. */
  readonly rss: number;
  /** Bytes of the JavaScript heap in use, and of buffers beside it. */
  readonly heap: number;
  /** The longest stall since the last report. */
  readonly longestMs: number;
}

export interface Probe {
  /** Environment variables for the hub process. */
  readonly settings: { readonly [name: string]: string };
  /** Has the hub collect its garbage, and says what is left. Null when the hub does not answer within 30 s. */
  collect(): Promise<Memory | null>;
  close(): void;
}

export async function openProbe(
  told: (report: Stall | Memory) => void,
  options: { readonly profiled: boolean },
): Promise<Probe> {
  const folder = mkdtempSync(join(tmpdir(), 'reeve-fuzz-'));
  const path = join(folder, 'probe');
  const waiting: ((memory: Memory | null) => void)[] = [];
  let hub: Socket | null = null;
  const server = createServer((socket) => {
    hub = socket;
    let text = '';
    socket.on('error', () => undefined);
    socket.on('data', (chunk) => {
      const lines = (text + chunk.toString()).split('\n');
      text = lines.pop() ?? '';
      for (const line of lines) {
        const report = JSON.parse(line) as Stall | Memory;
        if (report.kind === 'memory' && report.collected) for (const done of waiting.splice(0)) done(report);
        told(report);
      }
    });
  });
  await new Promise<void>((resolve) => server.listen(path, resolve));
  return {
    settings: {
      NODE_OPTIONS: `--import=${new URL('probe.mjs', import.meta.url).href}`,
      FUZZ_PROBE: path,
      ...(options.profiled ? { FUZZ_PROFILE: '1' } : {}),
    },
    collect() {
      return new Promise((resolve) => {
        const timer = setTimeout(() => resolve(null), 30_000);
        waiting.push((memory) => {
          clearTimeout(timer);
          resolve(memory);
        });
        hub?.write('collect\n');
      });
    },
    close() {
      hub?.destroy();
      server.close();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
