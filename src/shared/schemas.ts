// Schemas that records and routes of every noun share. One object each: the OpenAPI document describes it once.
import { z } from 'zod';
import { environments } from './ids.ts';

export const env = z.enum(environments);
export const uuid = z.uuid();
/** An instant on the wire: ISO 8601, UTC; milliseconds on the console API, microseconds on the hosted one. */
export const isoInstant = z.iso.datetime();
/** A JSON object of any content. */
export const anyObject = z.record(z.string(), z.unknown());
