// Fields that several declarations share: bounded texts, environments, times, names.
import { isolationModes } from 'reeve-agent/rules';
import { z } from 'zod';
import { bundleNamePattern, contractIdPattern } from '../../shared/ids.ts';
import { isoInstant, line, text } from '../../shared/schemas.ts';

export { assignmentSource } from '../../agent/record.ts';
export { approvalStatus } from '../../approval/record.ts';
export { contractType, mode } from '../../contract/record.ts';
/** The body reader bounds depth and size of objects. */
export { anyObject, env, instantInput, line, text, uuid } from '../../shared/schemas.ts';

/** ISO 8601, UTC, milliseconds. */
export const instant = isoInstant;
export const bundleName = z.string().min(1).max(128).regex(bundleNamePattern);
export const contractId = z.string().min(1).max(128).regex(contractIdPattern);
/** The least isolation of programs that agents' tools run. */
export const isolationMode = z.enum(isolationModes);
export const tags = z.array(line(64)).max(50);

/** An id in a path: a UUID of any version, in either case. */
export const pathId = z.guid().toLowerCase();

/** A version in a path: decimal digits, from 1. */
export const versionNumber = z
  .string()
  .regex(/^[1-9]\d{0,8}$/, 'must be a version number')
  .transform(Number);
/** YAML as text: at most 1,048,576 characters. */
export const yamlContent = text(1_048_576);
/** A body that is a YAML document. */
export const yamlDocument = z.object({ yaml_content: yamlContent });

/** A whole number in a query string. */
export const intQuery = (min: number, max: number) => z.coerce.number().int().min(min).max(max);

/** `true` or `false`; absent: false. */
export const boolQuery = z
  .enum(['true', 'false'])
  .default('false')
  .transform((value) => value === 'true');

/** Query parameters of a list: at most `limit` items, without the first `offset`. */
export const paging = (max: number, usual = max) => ({
  limit: intQuery(1, max).default(usual),
  offset: intQuery(0, 1_000_000).default(0),
});

/** An agent's tags: at most 64 pairs of texts. */
export const tagMap = z
  .record(line(128), text(256))
  .refine((value) => Object.keys(value).length <= 64, 'must not contain more than 64 tags');
