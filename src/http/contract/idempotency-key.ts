// The Idempotency-Key of a request, on every route that takes one.
import { validationFailed } from './validation.ts';

const printable = /^[\x20-\x7e]{1,128}$/;

/** The header's value. @throws HubError validation_failed unless it is 1 to 128 printable ASCII characters */
export function requireIdempotencyKey(value: string): string {
  if (printable.test(value)) return value;
  throw validationFailed([
    { loc: ['header', 'idempotency-key'], msg: 'must be 1 to 128 printable ASCII characters' },
  ]);
}
