// What the driver throws, as the product's errors.
import { type BulkWriteResult, MongoBulkWriteError, MongoNetworkError, MongoServerError } from 'mongodb';
import { expect, it } from 'vitest';
import { asHubError } from '../../../adapters/mongo/failure.ts';
import { noLog } from '../../cluster/stage.ts';

const nothing = {} as BulkWriteResult;

it('a bulk write that lost its connection is unavailable, not an error of the hub', () => {
  for (const cause of [
    new MongoNetworkError('connection 24 to 127.0.0.1:27017 closed'),
    Object.assign(new Error('connect ECONNREFUSED 127.0.0.1:27017'), { code: 'ECONNREFUSED' }),
  ]) {
    const thrown = new MongoBulkWriteError(cause as never, nothing);
    expect(asHubError(thrown, noLog)).toMatchObject({ code: 'unavailable', detail: { retryAfter: 2 } });
  }
});

it('a command that the server refuses is an error of the hub, and what it cannot keep is one of the caller', () => {
  const refused = (code: number) => asHubError(new MongoServerError({ message: 'no', code }), noLog);
  expect(refused(2)).toMatchObject({ code: 'internal' });
  expect(refused(91)).toMatchObject({ code: 'unavailable' });
  expect(refused(10334)).toMatchObject({ code: 'unprocessable' });
  expect(
    asHubError(new MongoBulkWriteError({ message: 'no', code: 2 } as never, nothing), noLog),
  ).toMatchObject({
    code: 'internal',
  });
});
