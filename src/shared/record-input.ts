// Fields of a request, as a record declares them: their names and checks, and their values in the domain's names.

import type { z } from 'zod';
import {
  type ApiOptions,
  type FieldOptions,
  type InputOptions,
  inner,
  isJson,
  isNullable,
  type JsonValue,
  type OptionsIn,
  type RecordField,
  type RecordFields,
  type ReplyApi,
} from './record-fields.ts';
import { type Snake, snake } from './snake-keys.ts';

type InputIn<O extends FieldOptions, A extends ReplyApi> = O extends { readonly input: infer I }
  ? I extends { readonly [K in A]: infer P }
    ? P
    : I extends { readonly console: unknown } | { readonly hosted: unknown }
      ? unknown
      : I
  : unknown;
type InputName<N, O extends FieldOptions, A extends ReplyApi> =
  InputIn<O, A> extends { readonly name: infer W extends string }
    ? W
    : OptionsIn<O, A> extends { readonly name: infer W extends string }
      ? W
      : O extends { readonly name: infer W extends string }
        ? W
        : Snake<N & string>;
type Unstored<S> = S extends JsonValue<unknown, infer T> ? T : S;
type InputSchema<F extends RecordField, A extends ReplyApi> =
  InputIn<F['options'], A> extends { readonly schema: infer T extends z.ZodType }
    ? T
    : F['schema'] extends z.ZodNullable<infer T extends z.ZodType>
      ? z.ZodOptional<z.ZodNullable<Unstored<T> & z.ZodType>>
      : Unstored<F['schema']> & z.ZodType;
type Alias<F extends RecordField, A extends ReplyApi> =
  InputIn<F['options'], A> extends { readonly alias: infer T extends NonNullable<InputOptions['alias']> }
    ? T
    : never;
type AliasName<F extends RecordField, A extends ReplyApi> = [Alias<F, A>] extends [never]
  ? never
  : Alias<F, A>['name'];

type InputShape<F extends RecordFields, A extends ReplyApi, N extends keyof F> = {
  [K in N as InputName<K, F[K]['options'], A>]: InputSchema<F[K], A>;
} & { [K in N as AliasName<F[K], A>]: Alias<F[K], A>['schema'] };

type NullIfAbsent<T> = undefined extends T ? Exclude<T, undefined> | null : T;

export interface RecordInput<F extends RecordFields, A extends ReplyApi, N extends keyof F> {
  /** The checks, by the API's names. */
  readonly shape: InputShape<F, A, N>;
  /** The fields of a checked request; null for one that is absent. */
  read(body: { readonly [name: string]: unknown }): {
    readonly [K in N]: NullIfAbsent<z.output<InputSchema<F[K], A>>>;
  };
}

const isByApi = (input: object): input is { readonly [A in ReplyApi]?: InputOptions } =>
  'console' in input || 'hosted' in input;

function optionsOf({ input = {} }: FieldOptions, api: ReplyApi): InputOptions {
  return isByApi(input) ? (input[api] ?? {}) : input;
}

function checkOf({ schema }: RecordField): z.ZodType {
  const domain = inner(schema);
  const check = isJson(domain) ? domain.reply : domain;
  return isNullable(schema) ? check.nullish() : check;
}

export function inputOf<F extends RecordFields, A extends ReplyApi, N extends keyof F & string>(
  fields: F,
  api: A,
  names: readonly N[],
): RecordInput<F, A, N> {
  const shape: { [name: string]: z.ZodType } = {};
  const sources = names.map((name) => {
    const field = fields[name] as RecordField;
    const { options } = field;
    const { alias, ...own } = optionsOf(options, api);
    const ofApi: ApiOptions = options[api] || {};
    const first = own.name ?? ofApi.name ?? options.name ?? snake(name);
    shape[first] = own.schema ?? checkOf(field);
    if (alias) shape[alias.name] = alias.schema;
    return { name, first, second: alias?.name };
  });
  const read = (body: { readonly [name: string]: unknown }): { readonly [name: string]: unknown } =>
    Object.fromEntries(
      sources.map(({ name, first, second }) => [
        name,
        body[first] ?? (second === undefined ? null : body[second]) ?? null,
      ]),
    );
  return { shape, read } as unknown as RecordInput<F, A, N>;
}
