// Secrets in every form that configuration, commands and encodings give them: by name, by program, by address, encoded.
import { describe, expect, it } from 'vitest';
import { redactArgs, redactText } from '../../src/rules/redact.ts';
import { cpuMs } from '../cpu.ts';
import { ordinaryCommands } from './sandbox/ordinary.ts';

const R = '[REDACTED]';
const value = 'Zq7hK2mPx9Lw';

const words = [
  'password',
  'secret',
  'api key',
  'access token',
  'client secret',
  'ssh key',
  'connection string',
];
const writings: readonly ((words: string) => string)[] = [
  (name) => name.replace(/ (.)/g, (_, letter: string) => letter.toUpperCase()),
  (name) => `my ${name}`.replace(/ (.)/g, (_, letter: string) => letter.toUpperCase()),
  (name) => name.replaceAll(' ', '_'),
  (name) => name.replaceAll(' ', '-'),
  (name) => `MY_${name.replaceAll(' ', '_').toUpperCase()}`,
  (name) => `app.${name.replaceAll(' ', '_')}`,
  (name) => `${name.replaceAll(' ', '_')}2`,
  (name) => name.replaceAll(' ', ''),
];
const names = words.flatMap((word) => writings.map((write) => write(word)));
const forms: readonly ((name: string) => string)[] = [
  (name) => `${name}=${value} make`,
  (name) => `export ${name}="${value}"`,
  (name) => `a: b\n${name}: ${value}\nc: d`,
  (name) => `{"a":1,"${name}":"${value}","b":2}`,
  (name) => JSON.stringify({ x: JSON.stringify({ [name]: value }) }),
  (name) => `https://a.com/x?b=1&${name}=${value}&c=2`,
  (name) => `tool --${name} '${value}' x`,
  (name) => `curl -H '${name}: ${value}' https://a.com`,
  (name) => `Server=a;${name}=${value};Trusted=no`,
  (name) => `os.environ["${name}"] = "${value}"`,
  (name) => `config['${name}']='${value}'`,
  (name) => `<${name}>${value}</${name}>`,
  (name) => `<add key="${name}" value="${value}" />`,
  (name) => `setenv ${name} ${value}`,
  (name) => `FROM a\nENV ${name} ${value}`,
  (name) => encodeURIComponent(`${name}=${value}`),
  (name) => `https://a.com/login?next=${encodeURIComponent(`/b?${name}=${value}`)}`,
];
const leaks = (text: string): boolean => text.includes(value) || decodeURIComponent(text).includes(value);

describe('secrets by their name', () => {
  it.each(names)('%s is hidden in every form of text and of arguments', (name) => {
    for (const form of forms)
      expect([form(name), leaks(redactText(form(name)))]).toEqual([form(name), false]);
    const args = [
      { [name]: value },
      { headers: [[name, value]] },
      { env: [`${name}=${value}`] },
      { args: [`--${name}`, value] },
      { body: JSON.stringify({ [name]: value }) },
      { name, value },
    ];
    for (const one of args) expect(JSON.stringify(redactArgs(one))).not.toContain(value);
    const inBase64 = btoa(JSON.stringify({ [name]: value }));
    expect(redactText(`x ${inBase64} y`)).toBe(`x ${R} y`);
  });
});

describe('secrets by program and address', () => {
  it.each([
    [`curl -su ann:${value} https://a.com`, `curl -su ann:${R} https://a.com`],
    [`curl -b 'sid=${value}' https://a.com`, `curl -b 'sid=${R}' https://a.com`],
    [`curl --cookie "sid=${value}" https://a.com`, `curl --cookie ${R} https://a.com`],
    [`smbclient //h/s -U u%${value}`, `smbclient //h/s -U u%${R}`],
    [`openssl enc -k ${value} -in a`, `openssl enc -k ${R} -in a`],
    [`htpasswd -bc f u ${value}`, `htpasswd -bc f u ${R}`],
    [`echo ${value} | sudo -S ls`, `echo ${R} | sudo -S ls`],
    [`echo ${value} | docker login -u a --password-stdin`, `echo ${R} | docker login -u a --password-stdin`],
    [`gh secret set A --body ${value}`, `gh secret set A --body ${R}`],
    [`SET PASSWORD FOR a = PASSWORD("${value}")`, `SET PASSWORD FOR a = PASSWORD('${R}')`],
    [`_auth=${value}`, `_auth=${R}`],
    [`git clone https://${value}${value}@github.com/a/b`, `git clone https://${R}@github.com/a/b`],
    [`https://hooks.slack.com/services/T0/B0/${value}`, `https://hooks.slack.com/services/${R}`],
    [`https://discord.com/api/webhooks/12/${value}`, `https://discord.com/api/webhooks/12/${R}`],
    [`https://api.telegram.org/bot12:${value}/x`, `https://api.telegram.org/bot12:${R}/x`],
    [
      `https://a.blob.core.windows.net/c?sv=1&sig=${value}%3D&x=1`,
      `https://a.blob.core.windows.net/c?sv=1&sig=${R}&x=1`,
    ],
    [
      `https://b.s3.amazonaws.com/k?X-Amz-Signature=${value}`,
      `https://b.s3.amazonaws.com/k?X-Amz-Signature=${R}`,
    ],
    [`xapp-1-A0-${value}`, R],
    [`shpat_${value}${value}${value}`, R],
    [`dop_v1_${value.repeat(4)}`, R],
    [`hvs.${value.repeat(3)}`, R],
  ])('%s', (text, hidden) => {
    expect(redactText(text)).toBe(hidden);
    expect(redactText(hidden)).toBe(hidden);
  });
});

it('keeps ordinary text in the same forms', () => {
  for (const text of [
    ...['<input name="keyword" value="abc" />', '<token>', '<div>secret</div>', 'config["path"] = "/a"'],
    ...['https://a.com/?q=a%3Db%26c%3Dd', 'see https://a.com/a%20b%22c%22', 'echo hello | sudo tee /etc/x'],
    ...['{"input_tokens": 5, "outputTokens": 7, "max_output_tokens": 9}', 'pwd=/home/ann', 'set -x'],
    ...[
      btoa('{"a":"b","c":[1,2,3]}'),
      btoa('{"input_tokens":512}'),
      'https://some-long-user-name-here@a.com',
    ],
    ...[
      'curl -b cookies.txt https://a.com',
      'curl -sb jar https://a.com',
      'openssl x509 -in a.pem',
      'ENV NODE_ENV test',
    ],
    ...['git clone https://github.com/a/b', 'https://a.com/?signature=none&sigma=2', 'setTimeout(a, 5)'],
    ...ordinaryCommands.filter((command) => !/-p\b|@|PASSWORD|TOKEN|DATABASE_URL/.test(command)),
  ])
    expect(redactText(text)).toBe(text);
});

it.each([
  ['percent signs', '%3D'],
  ['encoded assignments', 'a%3Db%26'],
  ['base64 of JSON', `${btoa('{"a":"b"}')} `],
  ['base64 without end', 'eyJh'],
  ['elements', '<a>'],
  ['elements with text', '<token>x</'],
  ['attributes', 'key="a" '],
  ['pipes', 'echo a | '],
  ['commands of curl', 'curl -su '],
  ['flags of curl', 'curl -b a='],
  ['words behind htpasswd', 'htpasswd -b a '],
  ['settings of passwords', 'set password '],
  ['addresses with users', '://a'],
  ['brackets', 'a"]'],
  ['environments', '\nENV a'],
])('needs linear time for a megabyte of %s', (_name, part) => {
  const text = part.repeat(Math.ceil(1_000_000 / part.length));
  redactText(text.slice(0, 50_000));
  expect(cpuMs(() => redactText(text))).toBeLessThan(2_000);
});
