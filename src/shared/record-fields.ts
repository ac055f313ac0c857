// The fields of a record as they are declared, and what follows from a single field.
import { z } from 'zod';

export type ReplyApi = 'console' | 'hosted';
/** A single record, or one of a list, where large fields give way to their size. */
export type ReplyForm = 'one' | 'list';

/** Schema of an instant: epoch milliseconds in the domain and in stores, ISO 8601 UTC on the wire. */
export interface InstantSchema extends z.ZodNumber {
  readonly isInstant: true;
}
export const instant = z.number() as InstantSchema;
/** The stored form of a JSON value, where its names differ from the domain's. */
export interface JsonForm<T = unknown> {
  toJson(value: T): unknown;
  fromJson(stored: unknown): T;
}
/**
 * Schema of a JSON value of any content: both stores keep it as text.
 * @param reply its schema on the wire
 * @param form default: the value is stored as it is
 */
export const json = <T, S extends z.ZodType>(reply: S, form: JsonForm<T> | null = null): JsonValue<T, S> =>
  Object.assign(z.custom<T>(), { reply, form }) as JsonValue<T, S>;
export interface JsonValue<T, S extends z.ZodType> extends z.ZodCustom<T, T> {
  readonly reply: S;
  readonly form: JsonForm | null;
}

/** Form of a field in one API; what is absent follows from the field. */
export interface ApiOptions {
  readonly name?: string;
  /** The API's word for each value of an enumeration that differs. */
  readonly words?: { readonly [value: string]: string };
  readonly schema?: z.ZodType;
}

/** Name and check of a field in requests. Absent: the API's name of it, with the domain's schema. */
export interface InputOptions {
  readonly name?: string;
  /** The whole check, what may be absent included. */
  readonly schema?: z.ZodType;
  /** A second name. Its value counts where the first is absent. */
  readonly alias?: { readonly name: string; readonly schema: z.ZodType };
}

export interface FieldOptions extends ApiOptions {
  /** The field's column, where it is not its name in snake_case. */
  readonly column?: string;
  /** False: stores do not keep the field, because it follows from others. */
  readonly stored?: false;
  /** False: no reply contains the field. */
  readonly wire?: false;
  /** Gives way to its size: in lists, or wherever stores have kept the size alone. */
  readonly shorten?: 'list' | 'always';
  /** False: no reply of this API contains the field. */
  readonly console?: ApiOptions | false;
  readonly hosted?: ApiOptions | false;
  /** For requests to one API, or to both. */
  readonly input?: InputOptions | { readonly [A in ReplyApi]?: InputOptions };
}

export interface RecordField<S extends z.ZodType = z.ZodType, O extends FieldOptions = FieldOptions> {
  readonly schema: S;
  readonly options: O;
}

/** Absent options: the wire name and the column are the field's name in snake_case. */
export const field = <S extends z.ZodType, const O extends FieldOptions = Record<never, never>>(
  schema: S,
  options: O = {} as O,
): RecordField<S, O> => ({ schema, options });

/** A member of replies that follows from the whole record. It replaces the field of the same name. */
export interface Computed<S extends z.ZodType = z.ZodType, R = never> {
  readonly schema: S;
  readonly value: (record: R) => z.input<S>;
}
export const computed = <S extends z.ZodType, R>(
  schema: S,
  value: (record: R) => z.input<S>,
): Computed<S, R> => ({ schema, value });

export interface RecordFields {
  readonly [name: string]: RecordField;
}
/** The domain's type of a record. */
export type RecordOf<F extends RecordFields> = {
  readonly [N in keyof F]: DeepReadonly<z.output<F[N]['schema']>>;
};
type Sparse<T> = { readonly [N in keyof T as undefined extends T[N] ? never : N]: T[N] } & {
  readonly [N in keyof T as undefined extends T[N] ? N : never]?: Exclude<T[N], undefined>;
};
/** The domain's type of a record whose optional fields are absent, never undefined. */
export type SparseRecordOf<F extends RecordFields> = Sparse<RecordOf<F>>;
/** The fields that stores keep. */
export type StoredOf<F extends RecordFields> = {
  readonly [N in keyof F as F[N]['options'] extends { readonly stored: false } ? never : N]: RecordOf<F>[N];
};
/** The fields that replies of an API contain. */
export type VisibleOf<F extends RecordFields, A extends ReplyApi> = Loose<{
  readonly [N in keyof F as F[N]['options'] extends { readonly wire: false } | { readonly [K in A]: false }
    ? never
    : N]: RecordOf<F>[N];
}>;
type Loose<T> = { readonly [N in keyof T as undefined extends T[N] ? never : N]: T[N] } & {
  readonly [N in keyof T as undefined extends T[N] ? N : never]?: T[N];
};
type DeepReadonly<T> = T extends readonly (infer E)[]
  ? readonly DeepReadonly<E>[]
  : T extends object
    ? { readonly [K in keyof T]: DeepReadonly<T[K]> }
    : T;

export type OptionsIn<O extends FieldOptions, A extends ReplyApi> = O extends { readonly [K in A]: infer P }
  ? P
  : unknown;

export const isNullable = (schema: z.ZodType): boolean => schema instanceof z.ZodNullable;
export const inner = (schema: z.ZodType): z.ZodType =>
  schema instanceof z.ZodNullable ? (schema.unwrap() as z.ZodType) : schema;
export const isJson = (schema: z.ZodType): schema is JsonValue<unknown, z.ZodType> => 'reply' in schema;
