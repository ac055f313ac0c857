// How signatures are written in replies and frames. Runs in the hub alone.
import type { VendorNames } from '../domain/vendor-names.ts';

/** Hex, or standard base64 with padding for clients that verify it so. */
export type SignatureEncoding = VendorNames['signatureEncoding'];

/** The signature (hex) as clients want it. */
export const encodeSignature = (signature: string, encoding: SignatureEncoding): string =>
  encoding === 'hex' ? signature : Buffer.from(signature, 'hex').toString('base64');
