// Types and checks that follow from a record's declaration.
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { Database } from '../../adapters/sqlite/database.ts';
import { migrate } from '../../adapters/sqlite/schema/index.ts';
import { tableOf } from '../../adapters/sqlite/table.ts';
import { approvalRecord } from '../../src/approval/record.ts';
import type { RouteDeclaration } from '../../src/http/contract/route.ts';
import { openApiText } from '../../src/hub/api/openapi.ts';
import { computed, field, instant, json, type RecordOf, record } from '../../src/shared/record.ts';
import { anyObject } from '../../src/shared/schemas.ts';
import { anApproval, hostileTexts } from '../conformance/fixtures.ts';
import { wire } from '../http/fixtures.ts';
import { aWideApproval, type WideApproval, wideApprovalRecord } from './wide-approval.ts';

// test/cluster/mongo-record.test.ts has it come back from a database of MongoDB.
describe('an approval with one more field', () => {
  const wider = wideApprovalRecord;
  const approval = aWideApproval();

  it('comes back from SQLite', () => {
    const db = new Database(':memory:');
    migrate(db);
    db.run('ALTER TABLE approvals ADD COLUMN cost_centre TEXT');
    const table = tableOf<WideApproval>(wider);
    db.run(table.insert, table.values(approval));
    expect(table.maybe(db.get(`SELECT ${table.columns} FROM approvals`))).toEqual(approval);
    db.close();
  });

  it('comes back from a document', () => {
    expect(wider.fromDocument(wider.toDocument(approval))).toEqual(approval);
  });

  it.each(['console', 'hosted'] as const)('is in replies of the %s API, and in their schemas', (api) => {
    expect(wider.render(api, approval)).toMatchObject({ cost_centre: 'K7' });
    for (const form of ['one', 'list'] as const) {
      const reply = wider.reply(api, form);
      expect(Object.keys(reply.shape)).toEqual(Object.keys(wider.render(api, approval)));
      expect(reply.parse(wider.render(api, approval))).toEqual(wider.render(api, approval));
      expect(z.toJSONSchema(reply).properties).toHaveProperty('cost_centre', { type: ['string', 'null'] });
    }
  });

  it.each(['console', 'hosted'] as const)('is in the OpenAPI document of the %s API', (api) => {
    const route = (path: string, reply: z.ZodType): RouteDeclaration => ({
      ...{ method: 'GET', path, auth: ['key'], role: 'agent', envs: 'none', tag: 'approvals' },
      ...{ summary: 'Approvals', status: 200, reply, errors: [] },
    });
    const routes = {
      getWideApproval: route('/approval', wider.reply(api, 'one')),
      listWideApprovals: route('/approvals', z.array(wider.reply(api, 'list'))),
    };
    const info = { title: 'Reeve', version: '0.1.0', baseUrl: 'http://localhost:8000', wire };
    const { paths, components } = JSON.parse(openApiText([{ prefix: '', errors: 'detail', routes }], info));
    const schemaOf = (path: string) => paths[path].get.responses['200'].content['application/json'].schema;
    const referred = ({ $ref }: { readonly $ref: string }) =>
      components.schemas[$ref.split('/').at(-1) ?? ''];
    const one = referred(schemaOf('/approval'));
    const list = referred(schemaOf('/approvals'));
    for (const schema of [one, list.items.$ref === undefined ? list.items : referred(list.items)]) {
      expect(schema.properties.cost_centre).toEqual({ type: ['string', 'null'] });
      expect(schema.required).toContain('cost_centre');
    }
  });
});

describe('a record in a store', () => {
  const runs = record('runs', {
    agentId: field(z.string(), { column: 'agent' }),
    status: field(z.enum(['open', 'stale']), { stored: false }),
    lastAt: field(instant),
  });

  it('has the columns that its fields name, and none for a field that follows from others', () => {
    expect(runs.columns.map(({ name }) => name)).toEqual(['agent', 'last_at']);
    expect(runs.toDocument({ agentId: 'a', lastAt: 1 })).toEqual({ agentId: 'a', lastAt: 1 });
    expect(runs.fromDocument({ agentId: 'a', lastAt: 1 })).toEqual({ agentId: 'a', lastAt: 1 });
    expect(Object.keys(runs.reply('console', 'one').shape)).toEqual(['agent_id', 'status', 'last_at']);
  });
});

describe('replies of a record', () => {
  const fields = {
    id: field(z.uuid(), { hosted: { schema: z.string() } }),
    secret: field(z.string(), { wire: false }),
    kind: field(z.enum(['fast', 'slow']), { hosted: { name: 'speed', words: { fast: 'quick' } } }),
    body: field(json<object, typeof anyObject>(anyObject).nullable(), { shorten: 'list' }),
    isOpen: field(z.boolean()),
    isSound: field(z.boolean().nullable(), { wire: false }),
    endedAt: field(instant.nullable(), { name: 'ended' }),
    note: field(z.string(), { console: false }),
  };
  type Thing = RecordOf<typeof fields>;
  const things = record('things', fields, {
    console: { is_open: computed(z.enum(['yes', 'no']), ({ isOpen }: Thing) => (isOpen ? 'yes' : 'no')) },
    hosted: { length: computed(z.int(), ({ note }: Thing) => note.length) },
  });
  const thing: Thing = {
    ...{ id: 'b9d1b0c1-0000-4000-8000-000000000000', secret: 's', kind: 'fast', body: { a: 1 } },
    ...{ isOpen: true, isSound: null, endedAt: 1000.25, note: 'abc' },
  };

  it('have the words, names, times and computed members of their API', () => {
    const { id } = thing;
    expect(things.render('console', thing)).toEqual({
      ...{ id, kind: 'fast', body: { a: 1 }, is_open: 'yes', ended: '1970-01-01T00:00:01.000Z' },
    });
    expect(things.render('hosted', thing)).toEqual({
      ...{ id, speed: 'quick', body: { a: 1 }, is_open: true, ended: '1970-01-01T00:00:01.000250Z' },
      ...{ note: 'abc', length: 3 },
    });
    expect(things.reply('hosted', 'one').shape.speed.options).toEqual(['quick', 'slow']);
  });

  it('contain sizes instead of large values where the form allows it', () => {
    const size = { body: { _truncated: true, bytes: 70_000 } };
    const reply = { ...things.render('console', thing), ...size };
    expect(things.reply('console', 'list').safeParse(reply).success).toBe(true);
    expect(things.reply('hosted', 'one').shape.body.safeParse({ _truncated: 'no' }).success).toBe(true);
    expect(z.toJSONSchema(things.reply('console', 'one').shape.body)).not.toEqual(
      z.toJSONSchema(things.reply('console', 'list').shape.body),
    );
  });

  it('are stored as columns of five kinds', () => {
    expect(things.columns.map(({ name, storage }) => `${name} ${storage}`)).toEqual([
      ...['id text', 'secret text', 'kind text', 'body json', 'is_open flag', 'is_sound flagOrNull'],
      ...['ended_at number', 'note text'],
    ]);
  });
});

describe('requests of a record', () => {
  const word = z.enum(['quick', 'slow']);
  const things = record('things', {
    label: field(z.string(), {
      hosted: { name: 'name' },
      input: { console: { schema: z.string().max(3) }, hosted: { schema: z.string().max(5).nullish() } },
    }),
    speed: field(z.string(), { input: { schema: word.optional(), alias: { name: 'pace', schema: word } } }),
    ownerId: field(z.string().nullable()),
  });
  const consoleRequest = things.input('console', ['label', 'ownerId', 'speed']);
  const hostedRequest = things.input('hosted', ['ownerId', 'label']);

  it('have the names, checks and order of their API', () => {
    expect(Object.keys(consoleRequest.shape)).toEqual(['label', 'owner_id', 'speed', 'pace']);
    expect(Object.keys(hostedRequest.shape)).toEqual(['owner_id', 'name']);
    expect(consoleRequest.shape.label.safeParse('abcd').success).toBe(false);
    expect(hostedRequest.shape.name.safeParse('abcd').success).toBe(true);
    expect(hostedRequest.shape.owner_id.safeParse(undefined).success).toBe(true);
  });

  it("become the domain's fields: null for an absent one, an alias where the first name is absent", () => {
    expect(consoleRequest.read({ label: 'a', pace: 'slow', other: 1 })).toEqual({
      ...{ label: 'a', speed: 'slow', ownerId: null },
    });
    expect(consoleRequest.read({ label: 'a', speed: 'quick', pace: 'slow' }).speed).toBe('quick');
    expect(hostedRequest.read({ name: 'b', owner_id: 'o' })).toEqual({ label: 'b', ownerId: 'o' });
  });
});

describe('documents of approvals', () => {
  it('keep JSON of any names as text, and what they lack is null', () => {
    const approval = anApproval({ toolArgs: { $where: { 'a.b': 1 } }, principal: { '': null } });
    const { principal: _principal, ...document } = approvalRecord.toDocument(approval);
    expect(document.toolArgs).toBe('{"$where":{"a.b":1}}');
    expect(approvalRecord.fromDocument(document)).toEqual({ ...approval, principal: null });
  });

  it('keep hostile texts', () => {
    for (const message of hostileTexts) {
      const approval = anApproval({ message });
      expect(approvalRecord.fromDocument(approvalRecord.toDocument(approval))).toEqual(approval);
    }
  });
});
