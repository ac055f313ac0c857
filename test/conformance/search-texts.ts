// Every store's promises about searches for a text: the same letters are found in all of them, however odd
// (src/shared/search-text.ts).
import { describe, expect, it } from 'vitest';
import type { DocumentStore } from '../../src/shared/ports/store.ts';
import { findsIn, foldedText } from '../../src/shared/search-text.ts';
import { aBatch, readAll } from './events.ts';
import {
  aContract,
  anApproval,
  anEvent,
  firstPage,
  itemsOf,
  type Open,
  sharedStore,
  t0,
  uuid,
} from './fixtures.ts';

/** Any store may keep these as they are, or in a form of its own. */
const oddTexts = [
  'Istanbul',
  'İstanbul',
  'ıstanbul',
  'Straße',
  'STRASSE',
  'ẞ',
  'ﬁle',
  'File',
  'caf\u00e9',
  'CAFE\u0301',
  'ÉTÉ',
  'Σίσυφος',
  'ΣΊΣΥΦΟΣ',
  '300 \u212a',
  '\u{10400} 𐐨',
  '🦄\u202e',
  'a\u0000b',
  '\u0000',
  '\u0001',
  '\u0001"n"',
  'tab\there\nand\\there',
  '100 %_*?',
  '[a-z]+$ ^|{1}',
  `it's "quoted" /i #`,
  '{"$gt":""}',
];

const needles = [
  ...oddTexts,
  'i',
  'İ',
  'ı',
  'ss',
  'ß',
  'fi',
  'é',
  'E\u0301',
  '\u0301',
  'σ',
  'ς',
  'k',
  '𐐀',
  '\ud83e\udd84',
].concat(['n', 'u', '"', '\\', '\\n', '\t', '%', '_', '*', "'", 'a\u0000', '\u0000b', '0001', '[', '{', ' ']);

type Find = (store: DocumentStore, tenantId: string, search: string) => Promise<readonly string[]>;

export function searchTextsContract(name: string, open: Open): void {
  describe(`${name}: a search for odd letters finds what has them, in the list of`, () => {
    const shared = sharedStore(open);

    async function findsAll(tenantId: string, texts: readonly string[], find: Find): Promise<void> {
      const found: { [needle: string]: readonly string[] } = {};
      const expected: typeof found = {};
      for (const needle of needles) {
        found[needle] = [...(await find(shared.get(), tenantId, needle))].sort();
        expected[needle] = texts.filter((text) => findsIn(text, foldedText(needle))).sort();
      }
      expect(found).toEqual(expected);
    }

    it('events', async () => {
      const tenantId = uuid();
      const texts = [...oddTexts, 'half \ud83e', '\udd84\u0000'];
      const events = texts.map((toolName, i) =>
        anEvent({ agentId: '-', callId: `${uuid().replace(/[^-]/g, '9')}-${i}`, toolName, payload: null }),
      );
      await shared.get().events.ingest(aBatch(tenantId, events));
      await findsAll(tenantId, texts, async (store, id, search) =>
        (await readAll(store, id, { env: null, search })).map(({ toolName }) => toolName),
      );
    });

    it('approvals', async () => {
      const tenantId = uuid();
      const plain = { agentId: '-', toolName: '-', contractName: null, decidedBy: null };
      for (const message of oddTexts)
        await shared.get().approvals.request(anApproval({ tenantId, ...plain, message, createdAt: t0 }));
      await findsAll(tenantId, oddTexts, async (store, id, search) => {
        const filter = { env: null, search };
        const rows = await itemsOf(store.approvals.list(id, filter, firstPage, t0));
        expect(await store.approvals.count(id, filter, t0)).toBe(rows.length);
        return rows.map(({ message }) => message);
      });
    });

    it('contracts', async () => {
      const tenantId = uuid();
      for (const [i, description] of oddTexts.entries()) {
        const plain = { contractId: `${i + 1000}`.replace(/0/g, '-'), name: '-', tags: [] };
        await shared.get().contracts.create(aContract({ tenantId, ...plain, description }));
      }
      await findsAll(tenantId, oddTexts, async (store, id, search) =>
        (await itemsOf(store.contracts.list(id, { search }, firstPage))).map(
          ({ description }) => description ?? '',
        ),
      );
    });

    it('agents', async () => {
      const tenantId = uuid();
      for (const [i, displayName] of oddTexts.entries()) {
        await shared.get().agents.noteSeen(tenantId, `-${i + 1}-`, 'production', t0, uuid());
        await shared.get().agents.update(tenantId, `-${i + 1}-`, { displayName });
      }
      await findsAll(tenantId, oddTexts, async (store, id, search) => {
        const query = { order: 'agentId', descending: false, search, limit: 100, after: null } as const;
        return (await itemsOf(store.agents.search(id, query))).map(({ displayName }) => displayName ?? '');
      });
    });
  });
}
