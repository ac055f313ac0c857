// The test for a JSON object, as opposed to a list or a plain value. Pure.

export const isMapping = (value: unknown): value is { readonly [key: string]: unknown } =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
