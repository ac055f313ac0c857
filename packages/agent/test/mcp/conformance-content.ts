// Content that the scenarios of the official conformance suite look for in a server, in the words of both eras.
import type { Json } from './setting.ts';

export const png =
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg==';
const wav = 'UklGRiQAAABXQVZFZm10IBAAAAABAAEAQB8AAIA+AAACABAAZGF0YQAAAAA=';

export const textOf = (text: string) => ({ type: 'text' as const, text });
const image = { type: 'image' as const, data: png, mimeType: 'image/png' };
const embedded = (uri: string, mimeType: string, text: string) => ({
  type: 'resource' as const,
  resource: { uri, mimeType, text },
});

/** Tools that only answer. */
export const plainTools: { readonly [name: string]: readonly object[] } = {
  test_simple_text: [textOf('This is a simple text response for testing.')],
  test_image_content: [image],
  test_audio_content: [{ type: 'audio', data: wav, mimeType: 'audio/wav' }],
  test_embedded_resource: [
    embedded('test://embedded-resource', 'text/plain', 'This is an embedded resource content.'),
  ],
  test_multiple_content_types: [
    textOf('Multiple content types test:'),
    image,
    embedded('test://mixed-content-resource', 'application/json', '{"test":"data","value":123}'),
  ],
};

const names = (values: readonly string[]) =>
  values.map((value, at) => ({ const: value, title: `Choice ${at}` }));
const values = ['value1', 'value2', 'value3'];
const options = ['option1', 'option2', 'option3'];

/** Tools that put a form to the user of a legacy client, by the schema of the form. */
export const formTools: { readonly [name: string]: Json } = {
  test_elicitation: {
    type: 'object',
    properties: {
      username: { type: 'string', description: "User's response" },
      email: { type: 'string', description: "User's email address" },
    },
    required: ['username', 'email'],
  },
  test_elicitation_sep1034_defaults: {
    type: 'object',
    properties: {
      name: { type: 'string', default: 'John Doe' },
      age: { type: 'integer', default: 30 },
      score: { type: 'number', default: 95.5 },
      status: { type: 'string', enum: ['active', 'inactive', 'pending'], default: 'active' },
      verified: { type: 'boolean', default: true },
    },
  },
  test_elicitation_sep1330_enums: {
    type: 'object',
    properties: {
      untitledSingle: { type: 'string', enum: options },
      titledSingle: { type: 'string', oneOf: names(values) },
      legacyEnum: { type: 'string', enum: ['opt1', 'opt2', 'opt3'], enumNames: ['One', 'Two', 'Three'] },
      untitledMulti: { type: 'array', items: { type: 'string', enum: options } },
      titledMulti: { type: 'array', items: { anyOf: names(values) } },
    },
  },
};

export const form = (message: string, properties: Json) => ({
  message,
  requestedSchema: {
    type: 'object' as const,
    properties: properties as never,
    required: Object.keys(properties),
  },
});

export const prompts: {
  readonly [name: string]: (args: { readonly [name: string]: string }) => readonly object[];
} = {
  test_simple_prompt: () => [textOf('This is a simple prompt for testing.')],
  test_prompt_with_arguments: ({ arg1, arg2 }) => [
    textOf(`Prompt with arguments: arg1='${arg1}', arg2='${arg2}'`),
  ],
  test_prompt_with_embedded_resource: ({ resourceUri }) => [
    embedded(resourceUri ?? '', 'text/plain', 'Embedded resource content for testing.'),
    textOf('Please process the embedded resource above.'),
  ],
  test_prompt_with_image: () => [image, textOf('Please analyze the image above.')],
};

export const promptArguments: { readonly [name: string]: readonly string[] } = {
  test_prompt_with_arguments: ['arg1', 'arg2'],
  test_prompt_with_embedded_resource: ['resourceUri'],
};

export const resources = [
  {
    uri: 'test://static-text',
    mimeType: 'text/plain',
    text: 'This is the content of the static text resource.',
  },
  { uri: 'test://static-binary', mimeType: 'image/png', blob: png },
  { uri: 'test://watched-resource', mimeType: 'text/plain', text: 'watched' },
];

export const templateData = (id: string) => ({
  uri: `test://template/${id}/data`,
  mimeType: 'application/json',
  text: JSON.stringify({ id, templateTest: true, data: `Data for ID: ${id}` }),
});

export const steps = async (step: (at: number) => Promise<void>): Promise<void> => {
  for (const at of [0, 1, 2]) {
    await step(at);
    if (at < 2) await new Promise((resolve) => setTimeout(resolve, 50));
  }
};
export const logLines = ['Tool execution started', 'Tool processing data', 'Tool execution completed'];
