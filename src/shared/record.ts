// A noun's fields, declared once: the domain's type, the forms in both stores, and both APIs' replies follow from the
// declaration. No query, no relation, no change tracking: statements and conditions stay written out where they run.
// Declarations are compiled when they load.

import { z } from 'zod';
import { renderMicros } from './instant.ts';
import {
  type Computed,
  type FieldOptions,
  type InstantSchema,
  inner,
  instant,
  isJson,
  isNullable,
  type JsonForm,
  type JsonValue,
  type OptionsIn,
  type RecordField,
  type RecordFields,
  type RecordOf,
  type ReplyApi,
  type ReplyForm,
  type StoredOf,
  type VisibleOf,
} from './record-fields.ts';
import { inputOf, type RecordInput } from './record-input.ts';
import { isoInstant } from './schemas.ts';
import { type Snake, snake } from './snake-keys.ts';
import { listed, type truncatedField } from './truncated.ts';

export {
  computed,
  field,
  instant,
  json,
  type RecordOf,
  type ReplyApi,
  type StoredOf,
} from './record-fields.ts';

export type RecordStorage = 'text' | 'number' | 'flag' | 'flagOrNull' | 'json';
export interface RecordColumn<N = string> {
  readonly field: N;
  /** By default, the field's name in snake_case. */
  readonly name: string;
  readonly storage: RecordStorage;
  readonly form?: JsonForm | null;
}

type WireName<N, O extends FieldOptions, A extends ReplyApi> = O extends { readonly wire: false }
  ? never
  : OptionsIn<O, A> extends false
    ? never
    : OptionsIn<O, A> extends { readonly name: infer W }
      ? W
      : O extends { readonly name: infer W }
        ? W
        : Snake<N & string>;

type WordsOf<S extends z.ZodType, W> =
  S extends z.ZodEnum<infer E>
    ? z.ZodEnum<{
        [V in keyof E as V extends keyof W ? W[V] & string : V & string]: V extends keyof W
          ? W[V] & string
          : V & string;
      }>
    : S;
type Plain<S, O, P> = P extends { readonly schema: infer T extends z.ZodType }
  ? T
  : O extends { readonly schema: infer T extends z.ZodType }
    ? T
    : S extends z.ZodNullable<infer T extends z.ZodType>
      ? z.ZodNullable<Plain<T, O, P> & z.ZodType>
      : S extends InstantSchema
        ? z.ZodISODateTime
        : S extends JsonValue<unknown, infer T>
          ? T
          : P extends { readonly words: infer W }
            ? WordsOf<S & z.ZodType, W>
            : S;
type Shortened<S extends z.ZodType> =
  S extends z.ZodNullable<infer T extends z.ZodType>
    ? z.ZodNullable<z.ZodUnion<readonly [T, typeof truncatedField]>>
    : z.ZodUnion<readonly [S, typeof truncatedField]>;
type WireSchema<F extends RecordField, A extends ReplyApi, M extends ReplyForm> =
  F extends RecordField<infer S, infer O>
    ? O extends { readonly shorten: 'always' | M }
      ? Shortened<Plain<S, O, OptionsIn<O, A>> & z.ZodType>
      : Plain<S, O, OptionsIn<O, A>>
    : never;

type Own<C, A extends ReplyApi> = C extends { readonly [K in A]: infer Members }
  ? Members
  : Record<never, never>;
type Shape<F extends RecordFields, C, A extends ReplyApi, M extends ReplyForm> = {
  [N in keyof F as Exclude<WireName<N, F[N]['options'], A>, keyof Own<C, A>> & string]: WireSchema<
    F[N],
    A,
    M
  > &
    z.ZodType;
} & { [N in keyof Own<C, A>]: Own<C, A>[N] extends Computed<infer S, never> ? S : never };

/** The part of a record from which the computed members of an API follow. */
type SourceOf<C, A extends ReplyApi> = C extends {
  readonly [K in A]: { readonly [name: string]: Computed<z.ZodType, infer R> };
}
  ? R
  : unknown;

export interface RecordForms<F extends RecordFields, C> {
  /** Of the table and of the collection. */
  readonly name: string;
  readonly columns: readonly RecordColumn<keyof F & string>[];
  /** As a document of MongoDB: the id as `_id`, JSON of any content as text. */
  toDocument(record: StoredOf<F>): DocumentOf<F>;
  /** Fields that the document lacks are null. */
  fromDocument(document: Partial<DocumentOf<F>>): StoredOf<F>;
  /** The schema of a reply. */
  reply<A extends ReplyApi, M extends ReplyForm>(api: A, form: M): z.ZodObject<Shape<F, C, A, M>>;
  /** The value of a reply. Sizes replace large fields only where stores kept the sizes alone. */
  render<A extends ReplyApi>(
    api: A,
    record: VisibleOf<F, A> & SourceOf<C, A>,
  ): z.input<z.ZodObject<Shape<F, C, A, 'one'>>>;
  /** Fields of a request: their checks, in this order, and their values in the domain's names. */
  input<A extends ReplyApi, const N extends keyof F & string>(
    api: A,
    names: readonly N[],
  ): RecordInput<F, A, N>;
}

export type DocumentOf<F extends RecordFields> = {
  readonly [N in keyof F as F[N]['options'] extends { readonly stored: false }
    ? never
    : N extends 'id'
      ? '_id'
      : N]: F[N]['schema'] extends
    | JsonValue<unknown, z.ZodType>
    | z.ZodNullable<JsonValue<unknown, z.ZodType>>
    ? string | Extract<z.output<F[N]['schema']>, null>
    : RecordOf<F>[N];
};

function storageOf(schema: z.ZodType): RecordStorage {
  const stored = inner(schema);
  if (isJson(stored) || stored instanceof z.ZodArray || stored instanceof z.ZodObject) return 'json';
  if (stored instanceof z.ZodBoolean) return isNullable(schema) ? 'flagOrNull' : 'flag';
  return stored instanceof z.ZodNumber ? 'number' : 'text';
}

function formOf(schema: z.ZodType): JsonForm | null {
  const stored = inner(schema);
  return isJson(stored) ? stored.form : null;
}

/** A field of one API's replies. */
interface WireField {
  readonly field: string;
  readonly name: string;
  readonly schema: (form: ReplyForm) => z.ZodType;
  /** Null: the value itself. */
  readonly render: ((value: unknown) => unknown) | null;
}

const instantText: { readonly [A in ReplyApi]: (ms: number) => string } = {
  console: (ms) => new Date(ms).toISOString(),
  hosted: renderMicros,
};

function wireFieldOf(api: ReplyApi, name: string, { schema, options }: RecordField): WireField | null {
  const own = options[api] ?? {};
  if (options.wire === false || own === false) return null;
  const domain = inner(schema);
  const words = own.words ?? options.words ?? {};
  const hasWords = Object.keys(words).length > 0;
  const wordOf = (value: string): string => words[value] ?? value;
  const render =
    domain === instant
      ? (value: unknown) => (value === null ? null : instantText[api](value as number))
      : hasWords
        ? (value: unknown) => (value === null ? null : wordOf(value as string))
        : null;
  const plain = (): z.ZodType => {
    if (domain === instant) return isoInstant;
    if (isJson(domain)) return domain.reply;
    return domain instanceof z.ZodEnum && hasWords
      ? z.enum(domain.options.map((value) => wordOf(String(value))))
      : domain;
  };
  const explicit = own.schema ?? options.schema;
  const wireSchema = explicit ?? plain();
  const { shorten } = options;
  return {
    field: name,
    name: own.name ?? options.name ?? snake(name),
    render,
    schema: (form) => {
      const short = shorten === 'always' || shorten === form ? listed(wireSchema) : wireSchema;
      return isNullable(schema) && !explicit ? short.nullable() : short;
    },
  };
}

/** Members of each API's replies beside the fields, or in place of one. */
type ComputedMembers = { readonly [A in ReplyApi]?: { readonly [name: string]: Computed<z.ZodType, never> } };

const ofEachApi = <T>(make: (api: ReplyApi) => T): { readonly [A in ReplyApi]: T } => ({
  console: make('console'),
  hosted: make('hosted'),
});

/**
 * @param name of the table and of the collection
 * @param computedMembers by API: members of replies that follow from the whole record
 */
export function record<const F extends RecordFields, const C extends ComputedMembers = Record<never, never>>(
  name: string,
  fields: F,
  computedMembers: C = {} as C,
): RecordForms<F, C> {
  const entries = Object.entries(fields);
  const columns = entries.flatMap(([field, { schema, options }]) =>
    options.stored === false
      ? []
      : [{ field, name: options.column ?? snake(field), storage: storageOf(schema), form: formOf(schema) }],
  );
  const wire = ofEachApi((api) => entries.flatMap(([field, one]) => wireFieldOf(api, field, one) ?? []));
  const computedEntries = ofEachApi((api) => Object.entries(computedMembers[api] ?? {}));
  const texts = new Set(entries.flatMap(([field, { schema }]) => (isJson(inner(schema)) ? [field] : [])));
  const forms = {
    name,
    columns,
    toDocument(source: { readonly [field: string]: unknown }) {
      const document: { [field: string]: unknown } = {};
      for (const { field, form } of columns) {
        const value = source[field];
        document[field === 'id' ? '_id' : field] =
          texts.has(field) && value !== null ? JSON.stringify(form ? form.toJson(value) : value) : value;
      }
      return document;
    },
    fromDocument(document: { readonly [field: string]: unknown }) {
      const result: { [field: string]: unknown } = {};
      for (const { field, form } of columns) {
        const value = document[field === 'id' ? '_id' : field] ?? null;
        const isText = texts.has(field) && typeof value === 'string';
        const stored = isText ? JSON.parse(value) : value;
        result[field] = isText && form ? form.fromJson(stored) : stored;
      }
      return result;
    },
    reply(api: ReplyApi, form: ReplyForm) {
      const shape: { [name: string]: z.ZodType } = {};
      for (const one of wire[api]) shape[one.name] = one.schema(form);
      for (const [member, { schema }] of computedEntries[api]) shape[member] = schema;
      return z.object(shape);
    },
    render(api: ReplyApi, source: { readonly [field: string]: unknown }) {
      const reply: { [name: string]: unknown } = {};
      for (const { name: member, field, render } of wire[api]) {
        // An absent value keeps its place among the members, which an API's own form may fill.
        reply[member] = render === null ? source[field] : render(source[field]);
      }
      for (const [member, { value }] of computedEntries[api]) reply[member] = value(source as never);
      return reply;
    },
    input: (api: ReplyApi, names: readonly string[]) => inputOf(fields, api, names),
  };
  return forms as unknown as RecordForms<F, C>;
}
