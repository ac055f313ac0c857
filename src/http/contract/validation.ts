// Problems of values that do not fit a declaration, in the specification's words: from requests and other sources.
import type { z } from 'zod';
import { type Problem, RequestError } from './request-error.ts';

/** The most problems that one reply lists. */
export const maxProblems = 50;

/** The error of a request that does not fit its declaration; it keeps the first 50 problems. */
export const validationFailed = (problems: readonly Problem[]): RequestError =>
  new RequestError('validation_failed', 'The request does not match its schema. Correct each listed field.', {
    problems: problems.slice(0, maxProblems),
  });

/** Texts of the commonest problems, for the person who typed the request. */
export const sentences: z.core.ParseContext<z.core.$ZodIssue> = {
  error(issue) {
    if (issue.code === 'invalid_value') return `must be ${issue.values.map(String).join(' or ')}`;
    if (issue.code === 'too_small' || issue.code === 'too_big') {
      const [limit, bound] =
        issue.code === 'too_big' ? [issue.maximum, 'at most'] : [issue.minimum, 'at least'];
      if (issue.inclusive !== false) return bounds[issue.origin]?.(`${bound} ${limit}`);
    }
    if (issue.code === 'invalid_format' && (issue.format === 'uuid' || issue.format === 'guid'))
      return 'must be a UUID';
    if (issue.code !== 'invalid_type') return undefined;
    if (issue.input === undefined) return 'is required';
    const kind = kinds[issue.expected];
    return kind && `must be ${kind}`;
  },
};

type Words<T> = { readonly [name: string]: T | undefined };

const kinds: Words<string> = {
  string: 'text',
  number: 'a number',
  int: 'a whole number',
  boolean: 'true or false',
  array: 'a list',
  object: 'an object',
  record: 'an object',
};

const bounds: Words<(limit: string) => string> = {
  string: (limit) => `must have ${limit} character(s)`,
  array: (limit) => `must contain ${limit} item(s)`,
  number: (limit) => `must be ${limit}`,
  int: (limit) => `must be ${limit}`,
};

/** The problems of one part, the first 50. */
export const problemsOf = (error: z.ZodError, where: 'body' | 'query' | 'path'): readonly Problem[] =>
  error.issues.slice(0, maxProblems).map(({ path, message }) => ({
    loc: [where, ...path.map((key) => (typeof key === 'number' ? key : String(key)))],
    msg: message,
  }));

/** The value as the schema reads it. @throws HubError validation_failed */
export function checked<S extends z.ZodType>(
  schema: S,
  value: unknown,
  where: 'body' | 'query' | 'path' = 'body',
): z.output<S> {
  const result = schema.safeParse(value, sentences);
  if (!result.success) throw validationFailed(problemsOf(result.error, where));
  return result.data;
}
