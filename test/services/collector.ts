// A real OpenTelemetry collector for the nightly test of traces. It is built from Go modules into the cache, in two
// minutes.
import { createHash } from 'node:crypto';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { cacheFolder, output } from './command.ts';
import { exists } from './debian.ts';
import { buildMs, goProgram } from './go.ts';
import { alone } from './lock.ts';
import type { Reaper } from './reaper.ts';
import { run, type Service, say } from './service.ts';

const source = new URL('collector/', import.meta.url).pathname;

/** The path of the program; another source is another program. */
async function collectorProgram(): Promise<string> {
  const hash = createHash('sha256');
  for (const name of ['main.go', 'go.mod', 'go.sum']) hash.update(await readFile(join(source, name)));
  const path = join(cacheFolder, 'go', `collector-${hash.digest('hex').slice(0, 12)}`);
  await alone(cacheFolder, async () => {
    if (await exists(path)) return;
    const go = await goProgram();
    say(`building the OpenTelemetry collector into ${path}`);
    const build = ['build', '-C', source, '-trimpath', '-ldflags=-s -w', '-o', path, '.'];
    await output('env', ['CGO_ENABLED=0', go, ...build], buildMs);
  });
  return path;
}

const settingsOf = (port: number, receiver: string): string => `
receivers: { otlp: { protocols: { http: { endpoint: '127.0.0.1:${port}' } } } }
exporters: { otlp_http: { endpoint: '${receiver}', encoding: json, compression: none } }
service:
  pipelines:
    traces: { receivers: [otlp], exporters: [otlp_http] }
    metrics: { receivers: [otlp], exporters: [otlp_http] }
`;

/** Runs a collector that sends everything on. @param receiver the address that it posts to, by OTLP over HTTP */
export async function startCollector(reaper: Reaper, receiver: string): Promise<Service> {
  const command = await collectorProgram();
  const fileOf = (port: number) => join(reaper.folder, `collector-${port}.yaml`);
  return run(
    {
      name: 'the collector',
      command,
      args: (port) => ['--config', fileOf(port)],
      url: (port) => `http://127.0.0.1:${port}`,
      prepare: (port) => writeFile(fileOf(port), settingsOf(port, receiver)),
      async answers(url) {
        const headers = { 'Content-Type': 'application/json' };
        const body = JSON.stringify({ resourceSpans: [] });
        const { status } = await fetch(`${url}/v1/traces`, { method: 'POST', headers, body });
        if (status !== 200) throw new Error(`answered ${status}`);
      },
    },
    reaper,
  );
}
