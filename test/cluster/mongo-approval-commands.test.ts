// The commands that an end of an approval costs MongoDB: a line of the export, an entry of the audit chain, once each.
import { MongoClient } from 'mongodb';
import { afterAll, beforeAll, expect, inject, it } from 'vitest';
import type { ApprovalRow } from '../../adapters/mongo/approval-rows.ts';
import { mongoApprovals } from '../../adapters/mongo/approvals.ts';
import { type HeadRow, mongoAudit } from '../../adapters/mongo/audit.ts';
import type { LinkRow } from '../../adapters/mongo/audit-links.ts';
import { type ExportCollections, type ExportLinkRow, ExportLog } from '../../adapters/mongo/export-log.ts';
import { createIndexes } from '../../adapters/mongo/indexes.ts';
import { risingIds } from '../../adapters/mongo/uuidv7.ts';
import { systemClock } from '../../adapters/node/clock.ts';
import type { AuditStore } from '../../src/audit/port.ts';
import { requestNote } from '../../src/audit/record.ts';
import { aNote, anApproval, t0, uuid } from '../conformance/fixtures.ts';
import { mongoDatabases } from './stage.ts';

const name = mongoDatabases().newName();
const client = new MongoClient(inject('mongoUrl'), { monitorCommands: true });
const db = client.db(name);
const approvals = db.collection<ApprovalRow>('approvals');
const links = db.collection<ExportLinkRow>('exportLinks');
let commands: string[] = [];
client.on('commandStarted', ({ commandName, command }) => {
  commands.push(`${commandName} ${command[commandName]}`);
});
beforeAll(() => createIndexes(db));
afterAll(() => client.close());

/** A node's approvals. `written` resolves with the commands so far, once nothing runs in the background. */
function openNode() {
  const parts = { links, approvals, batches: db.collection('eventBatches'), events: db.collection('events') };
  const log = new ExportLog(parts as unknown as ExportCollections, systemClock);
  const store = mongoApprovals(approvals, db.collection('approvalArgs'), risingIds(), systemClock, log);
  commands = [];
  const written = async (): Promise<readonly string[]> => {
    await log.close();
    const all = commands;
    commands = [];
    return all;
  };
  return { store, written };
}

const decision = { id: 'd', approved: true, decidedBy: 'ada', reason: null, decidedVia: 'console' };
const linesOf = async (tenantId: string) =>
  (await links.find({ tenantId }).sort({ seq: 1 }).toArray()).flatMap(({ items }) =>
    items.map(({ approval }) => approval?.change),
  );

it.each(['decided', 'expired'] as const)(
  'an approval that is %s gets one more line, without a look for its request',
  async (change) => {
    const { store, written } = openNode();
    const approval = anApproval();
    const { id, tenantId, deadline } = approval;
    await store.request(approval);
    expect(await written()).toEqual([
      'insert approvals',
      'find exportLinks',
      'insert exportLinks',
      'update approvals',
    ]);
    const ended =
      change === 'decided' ? store.decide(tenantId, id, decision, t0) : store.expire(tenantId, id, deadline);
    expect(await ended).toMatchObject({ id });
    expect(await written()).toEqual([
      'update approvals',
      'find approvals',
      'insert exportLinks',
      'update approvals',
    ]);
    expect(await linesOf(tenantId)).toEqual(['requested', change]);
    expect((await approvals.findOne({ _id: id }))?.unlined).toEqual([]);
  },
);

it('an end whose request has no line yet, as of a dead node, gets both, in order', async () => {
  const approval = anApproval();
  const { id, tenantId } = approval;
  const dead = mongoApprovals(approvals, db.collection('approvalArgs'), risingIds(), systemClock, {
    noteChange: () => {},
  });
  await dead.request(approval);
  const { store, written } = openNode();
  await store.expire(tenantId, id, approval.deadline);
  await written();
  expect(await linesOf(tenantId)).toEqual(['requested', 'expired']);
  expect((await approvals.findOne({ _id: id }))?.unlined).toEqual([]);
});

it('an entry of the audit chain costs a read of its end and an insert; a repeat is recorded once', async () => {
  const audit = mongoAudit({
    links: db.collection('auditLinks'),
    heads: db.collection('auditHeads'),
    intents: db.collection('auditIntents'),
  });
  const note = requestNote(anApproval(), null);
  commands = [];
  await audit.append([note]);
  expect(commands).toEqual(['find auditLinks', 'insert auditLinks']);
  const other = requestNote(anApproval({ tenantId: note.tenantId, id: uuid() }), null);
  await audit.append([note, other]);
  expect((await audit.getHead(note.tenantId))?.seq).toBe(2);
  const filter = { actor: null, actions: null, subjects: null, from: null, to: null };
  const entries = await audit.list(note.tenantId, filter, null, 10);
  expect(entries).toHaveLength(2);
});

it('a node appends at the end of a chain that others continued, or that was removed and came back shorter', async () => {
  const [links, heads] = [db.collection<LinkRow>('auditLinks'), db.collection<HeadRow>('auditHeads')];
  const openAudit = () => mongoAudit({ links, heads, intents: db.collection('auditIntents') });
  const [node, other] = [openAudit(), openAudit()];
  const tenantId = uuid();
  const append = (by: AuditStore) => by.append([aNote({ tenantId })]);
  for (const by of [node, node, other, other, node]) await append(by);
  const kept = await links.find({ tenantId, seq: { $lte: 2 } }).toArray();
  await links.deleteMany({ tenantId });
  expect(await node.getHead(tenantId)).toBeNull();
  await append(node);
  await links.deleteMany({ tenantId });
  await links.insertMany(kept);
  for (const by of [other, node]) await append(by);
  const chain = await node.listLinks(tenantId, 1, 10, 1 << 20);
  expect(chain.map(({ seq }) => seq)).toEqual([1, 2, 3, 4]);
  expect(chain.slice(1).map(({ prev }) => prev)).toEqual(chain.slice(0, -1).map(({ digest }) => digest));
});
