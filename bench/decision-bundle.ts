// The signed decision bundle of a run of 20,000 events over HTTP: the hub's resident memory above idle, how long it
// takes, how late its event loop is meanwhile, and whether equal content gives equal bytes. The hub is a process of its
// own. Its highest resident memory is the kernel's own figure, so that this runs on Linux alone.
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { fileURLToPath } from 'node:url';
import { systemClock } from '../adapters/node/clock.ts';
import { startHub } from '../src/bootstrap/hub.ts';
import { setUp } from './admin.ts';
import { agentName, makeBatch } from './batch.ts';
import { benchFolder } from './folder.ts';
import { isMet, lineOf, loopSampleMs, median, round, type Verdict } from './numbers.ts';
import { readOptions } from './options.ts';

const goalMiB = 64;
const mib = 1024 * 1024;
const posted = 500;
const settleMs = 500;
const warmBatches = 1000;
const agentId = 'bench-agent';
const sessionId = 'bench-session';

/** What the process of the hub answers. */
interface Answer {
  /** Bytes: now, and the highest since the last question. */
  readonly rss: number;
  readonly peak: number;
  /** Milliseconds since the last question: processor time of all threads, delays of the main thread's loop. */
  readonly cpu: number;
  readonly delayMax: number;
  readonly delayP99: number;
}

const statusBytes = (name: string): number =>
  1024 *
  Number(new RegExp(`^${name}:\\s+(\\d+) kB$`, 'm').exec(readFileSync('/proc/self/status', 'utf8'))?.[1]);

/** The hub, in the process that answers `serve-hub DIR`. `settle` collects its garbage first. */
async function serveHub(dir: string): Promise<void> {
  const folder = benchFolder({ DATA_DIR: dir });
  const hub = await startHub(folder.config);
  const delay = monitorEventLoopDelay({ resolution: loopSampleMs });
  delay.enable();
  let cpu = process.cpuUsage();
  process.on('message', async (asked: 'settle' | 'measure') => {
    for (let i = 0; asked === 'settle' && i < 3; i++) {
      globalThis.gc?.();
      await new Promise<void>((resolve) => {
        systemClock.after(settleMs, resolve);
      });
    }
    const used = process.cpuUsage(cpu);
    const answer: Answer = {
      rss: statusBytes('VmRSS'),
      peak: statusBytes('VmHWM'),
      cpu: (used.user + used.system) / 1000,
      delayMax: delay.max / 1e6 - loopSampleMs,
      delayP99: delay.percentile(99) / 1e6 - loopSampleMs,
    };
    // The highest resident memory counts from here.
    writeFileSync('/proc/self/clear_refs', '5');
    delay.reset();
    cpu = process.cpuUsage();
    process.send?.(answer);
  });
  process.once('disconnect', () => {
    void hub.stop().then(() => {
      folder.remove();
      process.exit(0);
    });
  });
  process.send?.(hub.port);
}

async function startProcess(dir: string) {
  const child: ChildProcess = fork(fileURLToPath(import.meta.url), ['serve-hub', dir], {
    execArgv: ['--expose-gc'],
  });
  const [port] = (await once(child, 'message')) as [number];
  return {
    url: `http://127.0.0.1:${port}`,
    async ask(question: 'settle' | 'measure'): Promise<Answer> {
      child.send(question);
      return ((await once(child, 'message')) as [Answer])[0];
    },
    async stop(): Promise<void> {
      const ended = once(child, 'exit');
      child.disconnect();
      await ended;
    },
  };
}

interface Envelope {
  readonly payload: string;
  readonly payload_sha256: string;
  readonly signatures: readonly { readonly sig: string }[];
}

async function main(): Promise<void> {
  const { events, repeats, json, say } = readOptions({
    program: 'decision-bundle',
    options: {
      events: { about: 'events of the run', default: 20_000 },
      repeats: { about: 'repeats of each request', default: 5 },
    },
    note: `A run that is too large for one bundle is refused with the parts to ask for: the refusal, the largest bundle that fits
and the parts are measured. Ends with code 1 when a goal is missed.`,
  });

  const folder = benchFolder();
  let hub = await startProcess(folder.dir);
  const admin = await setUp(hub.url);
  const { token } = await admin.call<{ readonly token: string }>('POST', '/api/v1/operator-tokens', {
    role: 'admin',
    ttl_seconds: 86_400,
  });
  const send = async (path: string, bearer: string, body?: object) => {
    const answer = await fetch(hub.url + path, {
      method: body ? 'POST' : 'GET',
      headers: { Authorization: `Bearer ${bearer}`, 'Content-Type': 'application/json' },
      ...(body ? { body: JSON.stringify(body) } : {}),
    });
    return { status: answer.status, text: await answer.text() };
  };
  const { key } = JSON.parse((await send('/v1/keys', token, { name: 'bench' })).text) as { key: string };

  const start = Date.now() - events * 100;
  for (let from = 0; from < events; from += posted) {
    const batches = Array.from({ length: posted / 50 }, (_, i) =>
      makeBatch(agentId, start + (from + 50 * i) * 100),
    );
    const flat = batches.flat().map(({ payload, verdict, ...event }, i) => {
      const { run_id: _run, ...said } = payload;
      return { ...event, ...said, action: verdict, session_id: sessionId, call_index: from + i };
    });
    const { status, text } = await send('/v1/events', key, { events: flat.slice(0, events - from) });
    if (status !== 200) throw new Error(`events: ${status} ${text}`);
  }

  const path = `/v1/runs/${agentId}/${sessionId}/bundle`;
  const get = async (query: string, expected: number): Promise<string> => {
    const { status, text } = await send(path + query, token);
    if (status !== expected) throw new Error(`bundle${query}: ${status} ${text.slice(0, 200)}`);
    return text;
  };
  const payloadOf = (text: string) =>
    JSON.parse(Buffer.from((JSON.parse(text) as Envelope).payload, 'base64').toString()) as {
      readonly events: readonly { readonly seq: number }[];
    };

  const whole = await send(path, token);
  const isWhole = whole.status === 200;
  const parts = isWhole
    ? ['']
    : (whole.text.match(/from_seq=\d+&to_seq=\d+/g) ?? []).map((part) => `?${part}`);
  if (parts.length === 0) throw new Error(`bundle: ${whole.status} ${whole.text.slice(0, 300)}`);
  const requests: { what: string; query: string; expected: number }[] = [];
  if (!isWhole) {
    const [first = '', second = ''] = parts;
    const seqs: number[] = [];
    for (const part of [first, second]) {
      seqs.push(...payloadOf(await get(part, 200)).events.map(({ seq }) => seq));
    }
    seqs.sort((a, b) => a - b);
    requests.push({ what: 'the refusal of the whole', query: '', expected: 413 });
    // As many events as fit: payloads of parts are 5 MiB, a bundle's may be 7.
    const bytes = Buffer.from((JSON.parse(await get(first, 200)) as Envelope).payload, 'base64').length;
    const fits = Math.floor((6.9 * mib * payloadOf(await get(first, 200)).events.length) / bytes);
    const last = seqs[Math.min(fits, seqs.length) - 1] ?? 0;
    requests.push({ what: `a bundle of ${fits} events`, query: `?to_seq=${last}`, expected: 200 });
  }
  parts.forEach((query, i) => {
    requests.push({ what: isWhole ? 'the whole' : `part ${i + 1} of ${parts.length}`, query, expected: 200 });
  });

  // No bundle was made in this process before. Its threads get the reserve that ordinary work gives them.
  await hub.stop();
  hub = await startProcess(folder.dir);
  for (let i = 0; i < warmBatches; i++) {
    const { status, text } = await send('/v1/events', key, { events: makeBatch(agentName(i), Date.now()) });
    if (status !== 200) throw new Error(`events: ${status} ${text}`);
  }
  const idle = (await hub.ask('settle')).rss;
  say(
    `${events} events in a run; the hub takes ${round(idle / mib)} MiB when idle, garbage collected; figures are medians of ${repeats}`,
  );
  const verdicts: Verdict[] = [];
  const figures: object[] = [];
  for (const { what, query, expected } of requests) {
    const made: (Answer & { readonly ms: number; readonly bytes: number })[] = [];
    const seen = new Set<string>();
    for (let i = 0; i < repeats; i++) {
      await hub.ask('settle');
      const began = performance.now();
      const text = await get(query, expected);
      const ms = performance.now() - began;
      made.push({ ...(await hub.ask('measure')), ms, bytes: text.length });
      if (expected === 200) {
        const { payload, payload_sha256, signatures } = JSON.parse(text) as Envelope;
        seen.add(JSON.stringify([payload, payload_sha256, signatures]));
      }
    }
    if (expected === 200 && seen.size !== 1) throw new Error(`${what}: equal content gave other bytes`);
    const middle = (of: (one: (typeof made)[number]) => number): number => round(median(made.map(of)));
    const figure = {
      what,
      peakMiB: made.map(({ peak }) => round((peak - idle) / mib)),
      ms: middle(({ ms }) => ms),
      cpu: middle(({ cpu }) => cpu),
      delayMax: middle(({ delayMax }) => delayMax),
      delayP99: middle(({ delayP99 }) => delayP99),
      bytes: made[0]?.bytes ?? 0,
    };
    figures.push(figure);
    const verdict = {
      what: `resident memory above idle, ${what}, highest`,
      value: Math.max(...figure.peakMiB),
      unit: ' MiB',
      atMost: goalMiB,
    };
    verdicts.push(verdict);
    say(lineOf(verdict));
    say(
      `    each ${figure.peakMiB.join(', ')}; ${figure.ms} ms, ${figure.cpu} ms of processors; event loop late ` +
        `by at most ${figure.delayMax} ms, p99 ${figure.delayP99} ms; answer of ${round(figure.bytes / mib, 2)} MiB`,
    );
  }
  say('  equal content gave equal bytes and signatures each time');
  await hub.stop();
  folder.remove();
  const met = verdicts.every(isMet);
  if (json) {
    process.stdout.write(
      `${JSON.stringify({ benchmark: 'decision-bundle', events, idle, figures, verdicts, met })}\n`,
    );
  }
  process.exitCode = met ? 0 : 1;
}

if (process.send && process.argv[2] === 'serve-hub') await serveHub(process.argv[3] ?? '');
else await main();
