// Every store's promises about queries: the events that the query language's own test accepts, in order, over pages of
// any size and in budgets of any length; counts of the terms that counted parts decide (event/port).
import { describe, expect, it } from 'vitest';
import type { EventInput, StoredEvent } from '../../src/event/record.ts';
import { type CountableEvent, countableEventOf } from '../../src/event/rules/countable.ts';
import { eventGrammar } from '../../src/event/rules/query/fields.ts';
import { queryTest, verdictWordOf } from '../../src/event/rules/query/match.ts';
import { narrowedByQuery } from '../../src/event/rules/query/narrow.ts';
import { parseQuery, type Query } from '../../src/event/rules/query/parse.ts';
import type { DocumentStore } from '../../src/shared/ports/store.ts';
import { rowsFor, runsOf } from '../runs.ts';
import { aBatch, readAll } from './events.ts';
import { anEvent, hostileTexts, type Open, sharedStore, t0, uuid } from './fixtures.ts';

export function queryOf(text: string): Query {
  const parsed = parseQuery(text, eventGrammar);
  if ('problem' in parsed) throw new Error(`${text}: ${parsed.problem.expected}`);
  return parsed.query;
}

const verdicts = ['call_allowed', 'call_denied', 'call_would_deny', 'call_asked', 'odd', 'call_blocked'];
const tools = ['read_file', 'run_sql', 'refund "a"', 'ré*d'];

function events(): readonly EventInput[] {
  const hostile = hostileTexts.map((text, i) =>
    anEvent({
      agentId: `h${text}`.slice(0, 200),
      toolName: `t${text}`.slice(0, 200),
      timestamp: t0 + i,
      payload: { reason: text, decision_name: `c${text}`, tool_args: { text, [text]: 1, list: [text] } },
    }),
  );
  const plain = Array.from({ length: 180 }, (_, i) =>
    anEvent({
      agentId: `agent-${i % 7}`,
      toolName: tools[i % tools.length] ?? '',
      verdict: verdicts[i % verdicts.length] ?? '',
      mode: i % 5 === 0 ? 'observe' : 'enforce',
      timestamp: t0 + ((i * 37) % 180) * 61_000,
      payload: {
        ...(i % 3 === 0 ? {} : { decision_name: `contract-${i % 4}` }),
        policy_version: `hash${i % 2}`,
        session_id: `run-${i % 9}`,
        reason: i % 11 === 0 ? 'Der Schlüssel fehlt' : 'not allowed',
        tool_args: { n: i, path: `/srv/${i}/.env`, items: [{ sku: `A-${i}` }] },
      },
    }),
  );
  return [...plain, ...hostile];
}

async function stored(
  store: DocumentStore,
): Promise<{ readonly tenantId: string; readonly all: StoredEvent[] }> {
  const tenantId = uuid();
  const all = events();
  for (let at = 0; at < all.length; at += 40) {
    const env = (at / 40) % 2 === 0 ? 'production' : 'staging';
    await store.events.ingest(aBatch(tenantId, all.slice(at, at + 40), { env }));
  }
  const asked = all.filter(({ verdict }) => verdict === 'call_asked').slice(0, 12);
  const repeats = asked.map((event, i) => ({
    ...event,
    verdict: i % 2 === 0 ? 'call_approval_granted' : 'call_approval_denied',
    payload: {
      reason: 'weil Bo es so will',
      decision_name: 'ask-bo',
      tool_success: true,
      duration_ms: 40 + i,
    },
  }));
  const env = (event: EventInput) =>
    Math.floor(all.indexOf(event) / 40) % 2 === 0 ? 'production' : 'staging';
  for (const [i, repeat] of repeats.entries()) {
    await store.events.ingest(aBatch(tenantId, [repeat], { env: env(asked[i] ?? repeat) }));
  }
  return { tenantId, all: await readAll(store, tenantId) };
}

const counted = [
  'verdict:denied',
  'verdict:(would_deny,asked)',
  '-verdict:allowed',
  'tool:run_sql',
  'tool:r*',
  'tool:"ré*d"',
  'tool:ref*',
  'agent:agent-3',
  '-agent:agent-*',
  'agent:(agent-1,agent-2)',
  'contract:contract-1',
  'contract:ask-bo',
  '-contract:*',
  'mode:observe',
  'env:staging',
  '-env:staging',
  'version:hash1',
  'version:*0',
  '-version:*',
  'verdict:denied tool:run_sql -agent:agent-0',
  'verdict:allowed mode:observe',
];
const others = [
  'schlüssel',
  'SCHLÜSSEL',
  'schl*',
  '"üssel feh"',
  'bo',
  'reason:bo',
  '17',
  'args.n:>170',
  'args.n:17',
  'args.path:*/17/*',
  'args.items[].sku:A-1*',
  'then:approved',
  '-then:approved verdict:asked',
  'is:pending',
  'duration:>45ms',
  'run:run-3',
  '-run:*',
  'agent',
  '-agent -schlüssel tool:r*',
  'verdict:denied 17',
];

export function eventsQueryContract(name: string, open: Open): void {
  describe(`${name}: queries`, () => {
    const shared = sharedStore(open);
    let data: ReturnType<typeof stored> | null = null;
    const dataOf = () => (data ??= stored(shared.get()));
    const matching = (all: readonly StoredEvent[], text: string) => {
      const { fits } = queryTest(queryOf(text));
      return all.filter((event) =>
        fits({ event, env: event.env, sample: event.sample ?? false, outcomes: event.outcomes }),
      );
    };

    /** Stores events without payloads, and compares what the store and the language find. */
    async function expectSame(names: readonly Partial<EventInput>[], queries: readonly string[]) {
      const { events: store } = shared.get();
      const tenantId = uuid();
      await store.ingest(
        aBatch(
          tenantId,
          names.map((one) => anEvent({ payload: null, ...one })),
        ),
      );
      const all = await readAll(shared.get(), tenantId);
      expect(all).toHaveLength(names.length);
      for (const text of queries) {
        const filter = narrowedByQuery({ env: null, query: queryOf(text) });
        const { events } = await store.search(tenantId, filter, 1000, null);
        const expected = matching(all, text);
        expect(events, JSON.stringify(text)).toEqual(expected);
        if (!queryTest(queryOf(text)).needsPayload)
          expect(await store.count(tenantId, filter), JSON.stringify(text)).toBe(expected.length);
      }
    }

    it('compares searched words with the names themselves, whatever their letters are in JSON', async () => {
      const names = ['corp\\svc', 'say "hi"', 'tab\there', 'nul\u0000byte', '\u0001first', 'plain'];
      const words = names.map((one) => `"${one.replace(/[\\"]/g, '\\$&')}"`);
      await expectSame(
        names.flatMap((one) => [
          { agentId: one },
          { toolName: one },
          { callId: one },
          { callId: uuid(), givenCallId: `given ${one}` },
        ]),
        [
          ...words,
          'corp\\svc',
          'CORP\\s*',
          ...words.map((one) => `call:${one}`),
          'call:*corp\\s*',
          'call:*nul\u0000*',
        ],
      );
    });

    it('judges the names themselves by wildcards, however the store keeps them', async () => {
      const names = [
        '\u0001alpha',
        '\u0001be"ta',
        'be\ud83dta\n',
        'be\\nta',
        'beta\n',
        'beta',
        'nul\u0000beta',
      ];
      const globs = [
        '*',
        '*alpha',
        '*ta',
        '*n*',
        '*u*',
        '*\\*',
        'be*ta',
        '\u0001*',
        '*\n',
        'nul\u0000*',
        '*0*1*',
      ];
      await expectSame(
        names.flatMap((one) => [
          { agentId: one },
          { toolName: one },
          { payload: { decision_name: one, policy_version: one } },
        ]),
        ['agent', 'tool', 'contract', 'version'].flatMap((field) =>
          globs.flatMap((glob) => [`${field}:${glob}`, `-${field}:${glob}`]),
        ),
      );
    });

    it('looks for a thousand versions and contracts at once', async () => {
      const { events: store } = shared.get();
      const tenantId = uuid();
      const payload = { policy_version: 'hash-7', decision_name: 'entry-7' };
      await store.ingest(aBatch(tenantId, [anEvent({ payload }), anEvent({ payload: null })]));
      const values = (name: string, first: number) =>
        Array.from({ length: 1_100 }, (_, i) => ({ text: `${name}-${first + i}`, isQuoted: true }));
      for (const [field, name] of [
        ['version', 'hash'],
        ['contract', 'entry'],
      ] as const) {
        for (const [first, matches] of [
          [0, 1],
          [5_000, 0],
        ] as const) {
          const [term] = queryOf(`${field}:any`).terms;
          const query = { terms: term ? [{ ...term, values: values(name, first) }] : [] };
          expect((await store.search(tenantId, { env: null, query }, 10, null)).events).toHaveLength(matches);
          expect(await store.count(tenantId, { env: null, query })).toBe(matches);
        }
      }
    });

    it('looks once at a name, however many wildcards a query has', async () => {
      const { events: store } = shared.get();
      const tenantId = uuid();
      const names = ['a'.repeat(255), `${'a'.repeat(254)}b`];
      await store.ingest(
        aBatch(
          tenantId,
          names.map((agentId) => anEvent({ agentId })),
        ),
      );
      const endsOf = async (glob: string) => {
        const filter = narrowedByQuery({ env: null, query: queryOf(`agent:${glob}`) });
        const { events } = await store.search(tenantId, filter, 10, null);
        return events.map(({ agentId }) => agentId.at(-1)).sort();
      };
      // There are 10^29 ways to place 20 letters among 255.
      expect(await endsOf(`${'a*'.repeat(20)}c`)).toEqual([]);
      expect(await endsOf(`${'a*'.repeat(20)}b`)).toEqual(['b']);
      expect(await endsOf(`*a*${'a'.repeat(254)}`)).toEqual(['a']);
      expect(await endsOf(`*a*${'a'.repeat(253)}*`)).toEqual(['a', 'b']);
      expect(await endsOf(`${'a'.repeat(255)}*a`)).toEqual([]);
    });

    it('finds what the language accepts, however long a page and a budget are', async () => {
      const { tenantId, all } = await dataOf();
      const { events: store } = shared.get();
      const texts = hostileTexts.filter((text) => text.trim() !== '').slice(0, 6);
      const quoted = texts.map((text) => `"${text.replace(/[\\"]/g, '\\$&').slice(0, 200)}"`);
      const queries = [...counted, ...others, ...quoted, ...quoted.map((one) => `args.text:${one}`)];
      for (const [i, text] of rowsFor(name, queries, 27).entries()) {
        const expected = matching(all, text).map(({ id }) => id);
        const filter = narrowedByQuery({ env: null, query: queryOf(text) });
        const small = i % runsOf(4, 12) === 0 ? ([[7, 0]] as const) : [];
        for (const [limit, budgetMs] of [[1000, 2000], ...small] as const) {
          const ids: string[] = [];
          let searchedTo = Number.POSITIVE_INFINITY;
          for (let cursor: string | null = null, pages = 0; ; pages++) {
            expect(pages).toBeLessThan(400);
            const page = await store.search(tenantId, filter, limit, cursor, 'newest', budgetMs);
            ids.push(...page.events.map(({ id }) => id));
            for (const { timestamp } of page.events) expect(timestamp).toBeLessThanOrEqual(searchedTo);
            if (page.searchedTo !== undefined) searchedTo = page.searchedTo;
            cursor = page.next;
            if (cursor === null) break;
          }
          expect(ids, `${text} by ${limit}`).toEqual(expected);
        }
      }
    });

    it('lists the parts for counts as it finds the events', async () => {
      const { tenantId, all } = await dataOf();
      const { events: store } = shared.get();
      for (const text of rowsFor(name, [...counted.slice(0, 4), ...others], 9)) {
        const expected = matching(all, text).filter(({ sample }) => !sample);
        const filter = narrowedByQuery({ env: null, query: queryOf(text) });
        for (const [limit, budgetMs] of [
          [1000, 2000],
          [50, 0],
        ] as const) {
          const parts: CountableEvent[] = [];
          for (let cursor: string | null = null, pages = 0; ; pages++) {
            expect(pages).toBeLessThan(400);
            const page = await store.listCountable(tenantId, filter, limit, cursor, budgetMs);
            parts.push(...page.events);
            cursor = page.next;
            if (cursor === null) break;
          }
          expect(parts, `${text} by ${limit}`).toEqual(expected.map(countableEventOf));
        }
      }
    });

    it('ends a count that takes longer than its time, and never answers a part of it', async () => {
      const { tenantId, all } = await dataOf();
      const { events: store } = shared.get();
      const ended: unknown[] = [];
      const note = (error: unknown) => void ended.push(error);
      const filter = { env: null, query: queryOf('tool:r*') };
      const expected = matching(all, 'tool:r*').length;
      for (const budgetMs of [-1, 0.001, 6_000]) {
        const facets = await store.facets(tenantId, filter, 50, undefined, budgetMs).catch(note);
        if (facets) expect(facets.events).toBe(expected);
        const buckets = await store.histogram(tenantId, filter, 60_000, budgetMs).catch(note);
        const sum = buckets?.reduce((n, one) => n + one.allowed + one.denied + one.pending + one.observed, 0);
        if (buckets) expect(sum).toBe(expected);
      }
      for (const error of ended) expect(error).toMatchObject({ code: 'search_timeout' });
      // A store on a server may answer within a millisecond.
      if (name.startsWith('sqlite')) expect(ended.length).toBeGreaterThanOrEqual(2);
    });

    it('counts by terms that counted parts decide', async () => {
      const { tenantId, all } = await dataOf();
      const { events: store } = shared.get();
      for (const text of rowsFor(name, counted, 11)) {
        const filter = narrowedByQuery({ env: null, query: queryOf(text) });
        const expected = matching(all, text);
        expect(await store.count(tenantId, filter), text).toBe(expected.length);
        const facets = await store.facets(tenantId, filter, 50);
        expect(facets.events, text).toBe(expected.length);
        for (const { value, count } of facets.by.toolName.top) {
          expect(count).toBe(expected.filter(({ toolName }) => toolName === value).length);
        }
        const buckets = await store.histogram(tenantId, { ...filter, since: 0, until: t0 * 2 }, 3_600_000);
        const sum = (key: 'denied' | 'observed') => buckets.reduce((total, bucket) => total + bucket[key], 0);
        const words = expected.map(({ verdict, mode }) => verdictWordOf(verdict, mode));
        expect(sum('denied'), text).toBe(words.filter((word) => word === 'denied').length);
        expect(sum('observed'), text).toBe(words.filter((word) => word === 'would_deny').length);
      }
    });
  });
}
