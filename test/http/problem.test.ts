// Errors as replies: the fields of a use case's input in the words of the route, and codes of HTTP alone.
import { expect, it } from 'vitest';
import { z } from 'zod';
import { RequestError } from '../../src/http/contract/request-error.ts';
import { errorReply, problemOf } from '../../src/http/problem.ts';
import { fieldProblem, HubError } from '../../src/shared/error.ts';

const schemas = {
  query: z.object({ return_to: z.string() }),
  params: z.object({ approval_id: z.string() }),
};

it.each([
  [['returnTo'], ['query', 'return_to']],
  [['approvalId'], ['path', 'approval_id']],
  [
    ['tools', 3, 'expiresAt'],
    ['body', 'tools', 3, 'expires_at'],
  ],
])('name the field %j as %j', (field, loc) => {
  const error = fieldProblem(field, 'must be shorter');
  expect(problemOf(error, schemas).body).toEqual({
    detail: [{ loc, msg: 'must be shorter' }],
    code: 'validation_failed',
  });
  const { json } = errorReply(error, 'problem', 'r1', schemas);
  expect(JSON.parse(json).errors).toEqual([{ loc, msg: 'must be shorter' }]);
});

it('keep the words of a document, and put a field without a route into the body', () => {
  const error = new HubError('validation_failed', 'Nothing was saved.', {
    fields: [
      { field: [], path: 'apiVersion', message: 'is unknown' },
      { field: ['userId'], message: 'no' },
    ],
  });
  expect(problemOf(error).body.detail).toEqual([
    { loc: ['body', 'apiVersion'], msg: 'is unknown' },
    { loc: ['body', 'user_id'], msg: 'no' },
  ]);
});

it('contain a code that only HTTP has', () => {
  const error = new RequestError('forbidden', 'Send the header.', { wireCode: 'csrf_header_missing' });
  expect(problemOf(error)).toMatchObject({
    status: 403,
    body: { detail: 'Send the header.', code: 'csrf_header_missing' },
  });
});
