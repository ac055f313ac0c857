// Each sink's promises: lines, order, bounds, marks, batches, and what survives a failure or a crash.
import { type FileHandle, mkdtemp, open, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { BufferFullError, HubConnectionError, HubResponseError } from '../src/failure.ts';
import { auditRecord, type WireEvent } from '../src/record.ts';
import { CollectingSink, MarkEvictedError } from '../src/sinks/collecting.ts';
import { FileSink, StdoutSink } from '../src/sinks/line.ts';
import { ServerSink, type ServerSinkOptions } from '../src/sinks/server.ts';
import { CompositeSink, type Sink } from '../src/sinks/sink.ts';
import { Spool } from '../src/sinks/spool.ts';
import { ManualClock, until } from './manual-clock.ts';

const record = (id: string | number, extra: object = {}) =>
  auditRecord({
    timestamp: '2026-01-01T00:00:00.000Z',
    run_id: 'run',
    call_id: `call-${id}`,
    tool_name: 'read_file',
    action: 'call_allowed',
    ...extra,
  });

let folder = '';
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'sinks-'));
});
afterEach(async () => {
  await rm(folder, { recursive: true });
});

describe('the record', () => {
  it('has every field of version 0.3.0', () => {
    expect(Object.keys(record(1)).sort()).toEqual(
      `action call_id call_index decision_name decision_source duration_ms environment error hooks_evaluated mode
       parent_call_id policy_error policy_version postconditions_passed principal reason result_summary
       rules_evaluated run_id schema_version session_attempt_count session_execution_count side_effect timestamp
       tool_args tool_name tool_success`.split(/\s+/),
    );
    expect(record(1)).toMatchObject({ schema_version: '0.3.0', duration_ms: 0, result_summary: null });
  });
});

/** The next call of a method of files writes four bytes, and fails. */
async function failNext(method: 'appendFile' | 'writeFile') {
  const probe = await open(folder);
  const prototype = Object.getPrototypeOf(probe) as FileHandle;
  await probe.close();
  return vi.spyOn(prototype, method).mockImplementationOnce(async function (this: FileHandle, bytes) {
    await this.write(Buffer.from(bytes as Buffer).subarray(0, 4));
    throw Object.assign(new Error('no space left on device'), { code: 'ENOSPC' });
  });
}

describe('line sinks', () => {
  it('writes one JSON line per record', async () => {
    const lines: string[] = [];
    const sink = new StdoutSink((line) => lines.push(line));
    await sink.emit(record(1, { reason: 'two\nlines' }));
    expect(lines).toHaveLength(1);
    expect(lines[0]?.indexOf('\n')).toBe((lines[0]?.length ?? 0) - 1);
    expect(JSON.parse(lines[0] ?? '')).toEqual(record(1, { reason: 'two\nlines' }));
  });

  it('appends to a file made by the first record, in order, capped', async () => {
    const path = join(folder, 'audit.jsonl');
    const sink = new FileSink(path);
    await expect(readFile(path)).rejects.toThrow('ENOENT');
    await Promise.all([1, 2, 3].map((n) => sink.emit(record(n))));
    await sink.emit(record(4, { tool_args: { a: 'x'.repeat(40_000) } }));
    await sink.close();
    await sink.emit(record(5));
    await sink.close();
    const lines = (await readFile(path, 'utf8'))
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line));
    expect(lines.map((line) => line.call_id)).toEqual(['call-1', 'call-2', 'call-3', 'call-4', 'call-5']);
    expect(lines[3]).toMatchObject({ _truncated: true, tool_args: { _redacted: 'payload exceeded 32KB' } });
  });

  it('loses no record after one that a full disk took half', async () => {
    const path = join(folder, 'audit.jsonl');
    const sink = new FileSink(path);
    await sink.emit(record(1));
    const half = await failNext('appendFile');
    await expect(sink.emit(record(2))).rejects.toThrow('no space');
    half.mockRestore();
    for (const n of [3, 4]) await sink.emit(record(n));
    await sink.close();
    const lines = (await readFile(path, 'utf8')).trim().split('\n');
    expect(lines).toHaveLength(4);
    expect([0, 2, 3].map((n) => JSON.parse(lines[n] ?? '').call_id)).toEqual(['call-1', 'call-3', 'call-4']);
  });

  it('goes on after a failed append when its path is gone', async () => {
    const path = join(folder, 'audit.jsonl');
    const sink = new FileSink(path);
    await sink.emit(record(1));
    const half = await failNext('appendFile');
    await expect(sink.emit(record(2))).rejects.toThrow('no space');
    half.mockRestore();
    await rename(path, `${path}.1`);
    for (const n of [3, 4]) await sink.emit(record(n));
    await sink.close();
    const lines = (await readFile(`${path}.1`, 'utf8')).trim().split('\n');
    expect([0, 2, 3].map((n) => JSON.parse(lines[n] ?? '').call_id)).toEqual(['call-1', 'call-3', 'call-4']);
  });

  it('fails each emit while the folder is missing, and works once it is there', async () => {
    const sink = new FileSink(join(folder, 'missing', 'audit.jsonl'));
    await expect(sink.emit(record(1))).rejects.toThrow('ENOENT');
    await expect(sink.emit(record(1))).rejects.toThrow('ENOENT');
  });
});

describe('the composite sink', () => {
  const failing = (message: string): Sink => ({ emit: () => Promise.reject(new Error(message)) });

  it('tries every sink in order and throws all failures together', async () => {
    const first = new CollectingSink();
    const last = new CollectingSink();
    const sink = new CompositeSink([first, failing('a'), failing('b'), last]);
    const failure = await sink.emit(record(1)).catch((error: unknown) => error);
    expect(failure).toBeInstanceOf(AggregateError);
    expect((failure as AggregateError).errors.map((e: Error) => e.message)).toEqual(['a', 'b']);
    expect([first.last().call_id, last.last().call_id]).toEqual(['call-1', 'call-1']);
  });

  it('closes every member and refuses to be empty', async () => {
    const closed: string[] = [];
    const member = (name: string): Sink => ({
      emit: async () => {},
      close: async () => void closed.push(name),
    });
    await new CompositeSink([member('a'), failing('x'), member('b')]).close();
    expect(closed).toEqual(['a', 'b']);
    expect(() => new CompositeSink([])).toThrow(RangeError);
  });
});

describe('the collecting sink', () => {
  it('keeps the newest records and gives those since a mark', async () => {
    const sink = new CollectingSink(3);
    await sink.emit(record(1));
    const mark = sink.mark();
    for (const n of [2, 3, 4]) await sink.emit(record(n));
    expect(sink.events.map((e) => e.call_id)).toEqual(['call-2', 'call-3', 'call-4']);
    expect(sink.sinceMark(mark).map((e) => e.call_id)).toEqual(['call-2', 'call-3', 'call-4']);
    expect(sink.last().call_id).toBe('call-4');
    await sink.emit(record(5, { action: 'call_denied' }));
    expect(() => sink.sinceMark(mark)).toThrow(MarkEvictedError);
    expect(sink.filter('call_denied').map((e) => e.call_id)).toEqual(['call-5']);
    expect(() => sink.sinceMark(6)).toThrow(RangeError);
  });

  it('evicts marks when cleared, and has no last record then', async () => {
    const sink = new CollectingSink();
    const mark = sink.mark();
    await sink.emit(record(1));
    sink.clear();
    expect(() => sink.sinceMark(mark)).toThrow(MarkEvictedError);
    expect(sink.sinceMark(sink.mark())).toEqual([]);
    expect(() => sink.last()).toThrow(RangeError);
    expect(() => new CollectingSink(0)).toThrow(RangeError);
  });
});

describe('the server sink', () => {
  const setUp = (extra: Partial<ServerSinkOptions> = {}) => {
    const clock = new ManualClock();
    const batches: WireEvent[][] = [];
    const state: { failure: unknown } = { failure: null };
    const errors: unknown[] = [];
    const sink = new ServerSink({
      post: async (events) => {
        if (state.failure) throw state.failure;
        batches.push([...events]);
      },
      agentId: 'agent-1',
      bundleName: () => 'guardrails',
      clock,
      onError: (failure) => errors.push(failure),
      ...extra,
    });
    const ids = () => batches.map((batch) => batch.map((event) => event.call_id));
    return { sink, clock, batches, state, errors, ids };
  };
  const away = new HubConnectionError('post', new Error('refused'));

  it('sends the nested form, with the action as verdict', async () => {
    const { sink, batches } = setUp();
    await sink.emit(record(1, { reason: 'why', principal: { user_id: 'u' }, policy_version: 'v' }));
    await sink.close();
    expect(batches).toEqual([
      [
        {
          call_id: 'call-1',
          agent_id: 'agent-1',
          tool_name: 'read_file',
          verdict: 'call_allowed',
          mode: 'enforce',
          timestamp: '2026-01-01T00:00:00.000Z',
          payload: {
            tool_args: {},
            side_effect: 'irreversible',
            environment: 'production',
            principal: {
              user_id: 'u',
              service_id: null,
              org_id: null,
              role: null,
              ticket_ref: null,
              claims: {},
            },
            decision_source: null,
            decision_name: null,
            reason: 'why',
            policy_version: 'v',
            bundle_name: 'guardrails',
            run_id: 'run',
            call_index: 0,
            parent_call_id: null,
            tool_success: null,
            postconditions_passed: null,
            duration_ms: 0,
            error: null,
            policy_error: false,
            session_attempt_count: 0,
            session_execution_count: 0,
          },
        },
      ],
    ]);
  });

  it('sends at 50 events at once, and the rest after 5 seconds', async () => {
    const { sink, clock, batches } = setUp();
    for (let n = 0; n < 49; n++) await sink.emit(record(n));
    expect(batches).toHaveLength(0);
    for (let n = 49; n < 51; n++) await sink.emit(record(n));
    await until(() => batches.length === 2);
    expect(batches.map((batch) => batch.length)).toEqual([50, 1]);
    await sink.emit(record('late'));
    clock.advance(4999);
    await until(() => true);
    expect(batches).toHaveLength(2);
    clock.advance(1);
    await until(() => batches.length === 3);
  });

  it('keeps events of a failed flush in order and tries again after the interval only', async () => {
    const { sink, clock, state, ids, errors } = setUp({ batchSize: 2 });
    state.failure = away;
    for (const n of [1, 2]) await sink.emit(record(n));
    await until(() => errors.length === 1);
    for (const n of [3, 4, 5]) await sink.emit(record(n));
    await until(() => true);
    expect(errors).toEqual([away]);
    state.failure = null;
    clock.advance(5000);
    await until(() => sink.size === 0);
    expect(ids()).toEqual([['call-1', 'call-2'], ['call-3', 'call-4'], ['call-5']]);
  });

  it('waits as long as the hub asks', async () => {
    const { sink, clock, state } = setUp();
    state.failure = new HubResponseError(429, 'slow down', 'post', 30);
    await sink.emit(record(1));
    await expect(sink.flush()).rejects.toThrow('429');
    expect(clock.waits.at(-1)).toBe(30_000);
  });

  it('refuses and counts new events when full', async () => {
    const { sink, state, ids } = setUp({ maxBufferSize: 2 });
    state.failure = away;
    for (const n of [1, 2]) await sink.emit(record(n));
    for (const n of [3, 4]) await expect(sink.emit(record(n))).rejects.toThrow(BufferFullError);
    expect(sink.dropped).toBe(2);
    await expect(sink.flush()).rejects.toBe(away);
    state.failure = null;
    await sink.close();
    expect(ids()).toEqual([['call-1', 'call-2']]);
  });

  it('finds the one event the hub refuses, counts it and delivers the others', async () => {
    const sent: string[] = [];
    const { sink } = setUp({
      post: async (events) => {
        if (events.some((event) => event.call_id === 'call-7'))
          throw new HubResponseError(422, 'bad', 'post');
        sent.push(...events.map((event) => event.call_id));
      },
    });
    for (let n = 0; n < 20; n++) await sink.emit(record(n));
    await sink.close();
    expect(sink.refused).toBe(1);
    expect(sent).toEqual(Array.from({ length: 20 }, (_, n) => `call-${n}`).filter((id) => id !== 'call-7'));
  });

  it('tells of the events that the hub leaves out of a batch, counts them, and does not send them again', async () => {
    const sent: string[] = [];
    const { sink, errors } = setUp({
      post: async (events) => {
        sent.push(...events.map((event) => event.call_id));
        return [{ callId: 'call-1', code: 'forbidden', detail: 'The key is not bound to this agent.' }];
      },
    });
    for (const n of [1, 2]) await sink.emit(record(n));
    await sink.close();
    expect(sent).toEqual(['call-1', 'call-2']);
    expect(sink.refused).toBe(1);
    expect(errors).toEqual([expect.objectContaining({ name: 'EventsRejectedError' })]);
    expect(String(errors[0])).toContain('call-1: The key is not bound to this agent.');
  });

  it('keeps events when the key is refused', async () => {
    const { sink, state } = setUp();
    state.failure = new HubResponseError(401, 'no', 'post');
    await sink.emit(record(1));
    await expect(sink.close()).rejects.toThrow('401');
    expect(sink.size).toBe(1);
    await expect(sink.emit(record(2))).rejects.toThrow('closed');
  });

  it('closes in time, though a flush is under way and the hub is silent', async () => {
    const signals: (AbortSignal | undefined)[] = [];
    const { sink, clock } = setUp({
      post: (_events, _manifest, signal) => {
        signals.push(signal);
        return new Promise(() => {});
      },
    });
    for (const n of [1, 2]) await sink.emit(record(n));
    clock.advance(5000);
    await until(() => signals.length === 1);
    const closing = sink.close().catch((failure: unknown) => failure);
    await clock.asked(8000);
    clock.advance(8000);
    expect(await closing).toBeInstanceOf(HubConnectionError);
    expect([signals.length, signals[0]?.aborted, sink.size, clock.pending]).toEqual([1, true, 2, 0]);
  });

  it('waits at its close for as long as the hub takes batches', async () => {
    const answers: (() => void)[] = [];
    const { sink, clock } = setUp({
      post: () => new Promise((resolve) => answers.push(() => resolve(null))),
      batchSize: 1,
    });
    for (const n of [1, 2, 3]) await sink.emit(record(n));
    const closing = sink.close();
    for (const n of [0, 1, 2]) {
      await until(() => answers.length === n + 1);
      clock.advance(7000);
      answers[n]?.();
    }
    await closing;
    expect([answers.length, sink.size, clock.pending]).toEqual([3, 0, 0]);
  });

  it('sends the manifest once per policy version', async () => {
    const versions: (string | undefined)[] = [];
    let version = 'v1';
    const { sink } = setUp({
      post: async (_events, manifest) => versions.push(manifest?.policyVersion),
      manifest: () => ({ agentId: 'agent-1', policyVersion: version, contracts: [] }),
    });
    for (const next of ['v1', 'v1', 'v2']) {
      version = next;
      await sink.emit(record(next));
      await sink.flush();
    }
    expect(versions).toEqual(['v1', undefined, 'v2']);
  });

  describe('with a spool', () => {
    const spoolFile = () => join(folder, 'spool.jsonl');

    it('has the event on disk when emit resolves, and empties the file once acknowledged', async () => {
      const { sink, state } = setUp({ spoolFile: spoolFile() });
      state.failure = away;
      await Promise.all([1, 2, 3].map((n) => sink.emit(record(n))));
      await expect(sink.flush()).rejects.toBe(away);
      const ids = (await readFile(spoolFile(), 'utf8'))
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line).call_id);
      expect(ids).toEqual(['call-1', 'call-2', 'call-3']);
      state.failure = null;
      await sink.close();
      expect(await readFile(spoolFile(), 'utf8')).toBe('');
    });

    it('sends what a crashed agent left, without its torn last line, before what is new', async () => {
      const crashed = setUp({ spoolFile: spoolFile() });
      crashed.state.failure = away;
      for (const n of [1, 2]) await crashed.sink.emit(record(n));
      // No close: the process is gone. It died while it wrote a third line.
      await writeFile(spoolFile(), '{"call_id":"call-3","ver', { flag: 'a' });
      const next = setUp({ spoolFile: spoolFile() });
      await next.sink.emit(record(4));
      await next.sink.close();
      expect(next.ids()).toEqual([['call-1', 'call-2', 'call-4']]);
      expect(await readFile(spoolFile(), 'utf8')).toBe('');
      await expect(crashed.sink.close()).rejects.toBe(away);
    });

    it('passes over a damaged line', async () => {
      await writeFile(spoolFile(), 'garbage\n{"call_id":"call-1","verdict":"call_allowed"}\n');
      const { sink, ids } = setUp({ spoolFile: spoolFile() });
      await sink.close();
      expect(ids()).toEqual([['call-1']]);
      expect(await readFile(spoolFile(), 'utf8')).toBe('');
    });

    it('gives the file back its size while events keep coming', async () => {
      const spool = new Spool(spoolFile());
      await spool.open();
      const line = (n: number): string => `${n} ${'x'.repeat(30_000)}`;
      await Promise.all(Array.from({ length: 300 }, (_, n) => spool.append(line(n))));
      await spool.acknowledge(298);
      await spool.append(line(300));
      await spool.settled();
      const left = (await readFile(spoolFile(), 'utf8')).trim().split('\n');
      expect(left).toEqual([line(298), line(299), line(300)]);
      await spool.close();
      const again = new Spool(spoolFile());
      expect(await again.open()).toHaveLength(3);
      await again.acknowledge(3);
      await again.close();
      expect(await readFile(spoolFile(), 'utf8')).toBe('');
    });

    it('leaves no part of a line that the disk took half, so that the next line is whole', async () => {
      const spool = new Spool(spoolFile());
      await spool.open();
      await spool.append('{"a":1}');
      const half = await failNext('appendFile');
      await expect(spool.append('{"b":2}')).rejects.toThrow('no space');
      half.mockRestore();
      await spool.append('{"c":3}');
      await spool.close();
      expect(await readFile(spoolFile(), 'utf8')).toBe('{"a":1}\n{"c":3}\n');
    });

    it('goes on with the old file when a rewrite has no room, and leaves no file open or behind', async () => {
      const spool = new Spool(spoolFile());
      await spool.open();
      const line = (n: number): string => `${n} ${'x'.repeat(30_000)}`;
      await Promise.all(Array.from({ length: 600 }, (_, n) => spool.append(line(n))));
      const opened = async () => (await readdir('/proc/self/fd')).length;
      const before = await opened();
      const full = await failNext('writeFile');
      await expect(spool.acknowledge(290)).rejects.toThrow('no space');
      // The next batches cost no rewrite each.
      await spool.acknowledge(50);
      expect(full).toHaveBeenCalledTimes(1);
      full.mockRestore();
      // Files that share the process may close some of theirs.
      expect(await opened()).toBeLessThanOrEqual(before);
      expect(await readdir(folder)).toEqual(['spool.jsonl']);
      await spool.append(line(600));
      await spool.acknowledge(250);
      await spool.append(line(601));
      await spool.settled();
      const left = (await readFile(spoolFile(), 'utf8')).trim().split('\n');
      expect(left).toEqual(Array.from({ length: 12 }, (_, n) => line(n + 590)));
      await spool.close();
    });

    it('goes on with the next batch when the spool cannot let the sent one go', async () => {
      const { sink, errors, ids } = setUp({ spoolFile: spoolFile(), batchSize: 2 });
      const failing = vi.spyOn(Spool.prototype, 'acknowledge').mockRejectedValueOnce(new Error('no space'));
      for (const n of [1, 2, 3, 4]) await sink.emit(record(n));
      await sink.flush();
      failing.mockRestore();
      expect(ids()).toEqual([
        ['call-1', 'call-2'],
        ['call-3', 'call-4'],
      ]);
      expect(errors).toEqual([new Error('no space')]);
      await sink.close();
    });

    it('holds the event in memory and says so when the disk does not take it', async () => {
      const { sink, ids } = setUp({ spoolFile: join(folder, 'missing', 'spool') });
      await expect(sink.emit(record(1))).rejects.toThrow('ENOENT');
      await expect(sink.close()).rejects.toThrow('ENOENT');
      expect(ids()).toEqual([['call-1']]);
    });

    it('says once that its file cannot be read, and delivers what memory holds', async () => {
      const { sink, clock, errors, ids } = setUp({ spoolFile: join(folder, 'missing', 'spool') });
      for (const n of [1, 2]) {
        await expect(sink.emit(record(n))).rejects.toThrow('ENOENT');
        clock.advance(5000);
        await until(() => ids().length === n);
        await sink.flush().catch((failure: unknown) => errors.push(failure));
      }
      await sink.close();
      expect(errors).toEqual([expect.objectContaining({ code: 'ENOENT' })]);
    });

    it('sends what a long outage left: more events than a call has room for arguments', async () => {
      const count = 150_000;
      const lines = Array.from(
        { length: count },
        (_, n) => `{"call_id":"call-${n}","verdict":"call_allowed"}\n`,
      );
      await writeFile(spoolFile(), lines.join(''));
      let sent = 0;
      const post = async (events: readonly WireEvent[]) => {
        sent += events.length;
      };
      const { sink } = setUp({ spoolFile: spoolFile(), batchSize: 10_000, post });
      await sink.close();
      expect([sent, await readFile(spoolFile(), 'utf8')]).toEqual([count, '']);
    });
  });
});
