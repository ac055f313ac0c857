// What nodes that died in between leave of the audit chain in MongoDB: an intent without its link. Any node records it, once.
import { MongoClient } from 'mongodb';
import { expect, inject, it } from 'vitest';
import { entriesOf } from '../../src/domain/audit.ts';
import { mongoDatabases } from './stage.ts';

const databases = mongoDatabases();

const noteIn = (tenantId: string, id: string, at: number) => ({
  _id: `${tenantId}/${id}` as never,
  at,
  note: JSON.stringify({
    id,
    tenantId,
    at,
    actor: { type: 'operator', id: 'ann', display: 'ann' },
    action: 'key.revoked',
    subject: { id: 'k', name: null },
    summary: 'An API key was revoked.',
    details: { env: null },
    agentId: null,
    sessionId: null,
  }),
});

it('records old intents as unconfirmed, those that are in the chain not again, and leaves young ones', async () => {
  const name = databases.newName();
  const store = await databases.open(name);
  const client = new MongoClient(inject('mongoUrl'));
  const intents = client.db(name).collection('auditIntents');
  try {
    await intents.insertMany([noteIn('t', 'a', 1000), noteIn('t', 'b', 2000), noteIn('t', 'young', 9000)]);
    const { note } = noteIn('t', 'a', 1000);
    await store.audit.append([JSON.parse(note)]);
    expect(await store.audit.recover(5000, 100)).toBe(2);
    expect(await store.audit.recover(5000, 100)).toBe(0);
    const links = await store.audit.links('t', 1, 10, 1 << 20);
    const entries = links.flatMap(({ body }) => entriesOf(body));
    expect(entries.map(({ id }) => id)).toEqual(['a', 'b']);
    expect(entries.map(({ details }) => details)).toEqual([{ env: null }, { env: null, unconfirmed: true }]);
    expect(await intents.countDocuments()).toBe(1);
  } finally {
    await client.close();
    await store.close();
  }
});
