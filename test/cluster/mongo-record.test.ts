// A field that is added to a record's declaration is stored by MongoDB and comes back, with nothing else edited.
import { MongoClient } from 'mongodb';
import { afterAll, expect, inject, it } from 'vitest';
import { aWideApproval, wideApprovalRecord } from '../shared/wide-approval.ts';
import { mongoDatabases } from './stage.ts';

const databases = mongoDatabases();
const client = new MongoClient(inject('mongoUrl'));
afterAll(() => client.close());

it('an approval with one more field comes back, beside those that were stored without it', async () => {
  const name = databases.newName();
  // The collection has the store's indexes.
  await databases.open(name);
  type Row = ReturnType<typeof wideApprovalRecord.toDocument>;
  const rows = client.db(name).collection<Row>(wideApprovalRecord.name);
  const wide = aWideApproval();
  await rows.insertOne(wideApprovalRecord.toDocument(wide));
  const { costCentre: _costCentre, ...narrow } = wideApprovalRecord.toDocument(aWideApproval());
  await rows.insertOne(narrow as Row);
  const read = async (id: string) => {
    const row = await rows.findOne({ _id: id });
    return row && wideApprovalRecord.fromDocument(row);
  };
  expect(await read(wide.id)).toEqual(wide);
  expect(await rows.countDocuments({ costCentre: 'K7' })).toBe(1);
  expect(await read(narrow._id)).toMatchObject({ id: narrow._id, costCentre: null });
});
