// Secrets that stand apart from their name: in tables, beside a name in JSON and YAML, behind arrows and declarations,
// in answers to prompts, in files of keys, in what programs are told. And ordinary text of the same forms, which stays.
import { describe, expect, it } from 'vitest';
import { redactArgs, redactText } from '../../src/rules/redact.ts';
import { cpuMs } from '../cpu.ts';

const R = '[REDACTED]';
/** Drawn by a machine, chosen by a person, in hexadecimal digits, in base64. */
const values = ['Zq7hK2mPx9Lw', 'hunter2Blue!', '9f8e7d6c5b4a3f2e1d0c', 'aB3dE6gH9kLmNoPqRsTuVw=='];

const forms: { readonly [where: string]: readonly ((value: string) => string)[] } = {
  tables: [
    (v) => `| Name | Value |\n|---|---|\n| API_KEY | ${v} |\n| PORT | 80 |`,
    (v) => `| \`API_KEY\` | \`${v}\` |`,
    (v) => `| **Password** | ${v} |`,
    (v) => `| User | Password | Role |\n|:--|:-:|--:|\n| ann | ${v} | admin |`,
    (v) => ` id | name | password \n----+------+----------\n 1  | ann  | ${v}\n(1 row)`,
    (v) => `+----+----------+\n| id | password |\n+----+----------+\n| 1  | ${v} |\n+----+----------+`,
    (v) => `│ API_KEY │ ${v} │`,
    (v) => `║ Password ║ ${v} ║`,
    (v) => `user,password,role\nann,${v},admin\nbob,x,y\n`,
    (v) => `"user","password"\n"A, nn","${v}"\n`,
    (v) => `user\tpassword\nann\t${v}\n`,
    (v) => `user;password\nann;${v}\n`,
    (v) => `API_TOKEN,${v}\n`,
    (v) => `API_KEY    ${v}`,
    (v) => `"API_KEY    ${v}"`,
    (v) => `# user,password\n#ann,${v}\n`,
    (v) => `| githubapi_key | ${v} |`,
  ],
  lists: [
    (v) => `- **Password:** ${v}`,
    (v) => `* \`API_TOKEN\`: \`${v}\``,
    (v) => `**API token**: ${v}`,
    (v) => `- Password — ${v}`,
    (v) => `passwords:\n  - ${v}\n  - x\n`,
    (v) => `passwords: ["x", "${v}"]`,
  ],
  arrows: [
    (v) => `API_KEY -> ${v}`,
    (v) => `API_KEY => ${v}`,
    (v) => `API_KEY → ${v}`,
    (v) => `password -> "${v}"`,
    (v) => `password <- "${v}"`,
    (v) => `"API_KEY" -> "${v}"`,
    (v) => `'password' => env('X', '${v}'),`,
    (v) => `API_TOKEN ?= ${v}`,
  ],
  'names and values': [
    (v) => `{"name":"API_TOKEN","value":"${v}"}`,
    (v) => `{"value":"${v}","name":"API_TOKEN"}`,
    (v) => JSON.stringify({ env: [{ name: 'API_TOKEN', value: v }] }, null, 2),
    (v) => `env:\n  - name: API_TOKEN\n    value: ${v}\n`,
    (v) => `env:\n- name: "API_TOKEN"\n  value: "${v}"\n`,
    (v) => `{"password":{"value":"${v}"}}`,
    (v) => `{"password": {"type":"plain","value": "${v}", "x":1}}`,
    (v) => `password:\n  value: ${v}\n`,
    (v) => `{"ParameterKey":"DBPassword","ParameterValue":"${v}"}`,
    (v) => `Key=DB_PASSWORD,Value=${v}`,
    (v) => `variable "db_password" {\n  type = string\n  default = "${v}"\n}`,
    (v) => `<key>ApiToken</key>\n<string>${v}</string>`,
    (v) => `<property name="password"><value>${v}</value></property>`,
    (v) => `<string name="api_key">${v}</string>`,
    (v) => `<password type="plain">${v}</password>`,
    (v) => `<password><![CDATA[${v}]]></password>`,
    (v) => `<input name="csrf_token" type="hidden" value="${v}">`,
    (v) => `Content-Disposition: form-data; name="password"\r\n\r\n${v}\r\n--x`,
  ],
  blocks: [
    (v) => `a:\n  password: |\n    ${v}\n    ${v}\n  b: c`,
    (v) => `token: >-\n  ${v}\nx: y`,
    (v) => `SECRET_KEY = """${v}"""`,
    (v) => `app --password \\\n  ${v} x`,
  ],
  code: [
    (v) => `const password: string = '${v}';`,
    (v) => `let password: &str = "${v}";`,
    (v) => `val apiKey: String = "${v}"`,
    (v) => `Dim password As String = "${v}"`,
    (v) => `char password[] = "${v}";`,
    (v) => `std::string api_key("${v}");`,
    (v) => `#define API_KEY "${v}"`,
    (v) => `define('DB_PASSWORD', '${v}');`,
    (v) => `$ENV{'API_TOKEN'} = '${v}';`,
    (v) => `config.setPassword("${v}");`,
    (v) => `env::set_var("API_TOKEN", "${v}");`,
    (v) => `os.getenv("API_TOKEN", "${v}")`,
    (v) => `localStorage.setItem('access_token', '${v}')`,
    (v) => `const token = process.env.TOKEN || '${v}'`,
    (v) => `$Password = ConvertTo-SecureString "${v}" -AsPlainText -Force`,
    (v) => `ConvertTo-SecureString -String '${v}' -AsPlainText -Force`,
    (v) => `(setq api-key "${v}")`,
    (v) => `config :app, secret_key_base: "${v}"`,
    (v) => `INSERT INTO users (password) VALUES ('${v}')`,
    (v) => `requests.get(u, auth=('ann', '${v}'))`,
    (v) => `HTTPBasicAuth('ann', '${v}')`,
  ],
  prompts: [
    (v) => `spawn ssh a\nexpect "assword:"\nsend "${v}\\r"\ninteract`,
    (v) => `expect "Password: " { send "${v}\\r" }`,
    (v) => `expect {\n  "*assword*" { send -- "${v}\\n" }\n}`,
    (v) => `send "${v}\\r"`,
    (v) => `child.expect('Password:')\nchild.sendline('${v}')`,
  ],
  'files of keys': [
    (v) =>
      `PuTTY-User-Key-File-3: ssh-ed25519\nEncryption: none\nComment: c\nPublic-Lines: 1\nAAAA\nPrivate-Lines: 2\nxx\n${v}\nPrivate-MAC: 00aa\n`,
    (v) => `Private-Lines: 1\r\n${v}\r\nPrivate-Hash: 00\r\n`,
    (v) => `---- BEGIN SSH2 ENCRYPTED PRIVATE KEY ----\n${v}\n---- END SSH2 ENCRYPTED PRIVATE KEY ----`,
    (v) => `{"kty":"oct","k":"${v.replace(/\W/g, '')}"}`,
    (v) => `client-key-data: ${v}`,
    (v) => `PresharedKey = ${v}`,
    (v) => `network={\n ssid="a"\n psk="${v}"\n}`,
    (v) => `db.host:5432:app:ann:${v}`,
    (v) => `{"auths":{"reg":{"auth":"${v}"}}}`,
    (v) => `requirepass ${v}`,
    (v) => `bindpw ${v}`,
  ],
  programs: [
    (v) => `echo "root:${v}" | chpasswd`,
    (v) => `echo ${v} | gpg --passphrase-fd 0`,
    (v) => `echo ${v} | wrangler secret put API_TOKEN`,
    (v) => `echo -n "${v}" | gcloud secrets create x --data-file=-`,
    (v) => `kubectl create secret generic a --from-literal=x=${v}`,
    (v) => `az keyvault secret set --vault-name a --name b --value ${v}`,
    (v) => `aws secretsmanager create-secret --name a --secret-string ${v}`,
    (v) => `aws ssm put-parameter --name /a --value ${v} --type SecureString`,
    (v) => `vault login ${v}`,
    (v) => `cargo login ${v}`,
    (v) => `doctl auth init -t ${v}`,
    (v) => `npm config set //reg/:_authToken ${v}`,
    (v) => `composer config http-basic.h a ${v}`,
    (v) => `keytool -storepass ${v} -keypass abc`,
    (v) => `sqlcmd -S h -U sa -P ${v}`,
    (v) => `sqlplus scott/${v}@db`,
    (v) => `lftp -u ann,${v} h`,
    (v) => `http -a ann:${v} h`,
    (v) => `net use Z: \\\\h\\s ${v} /user:ann`,
    (v) => `::add-mask::${v}`,
  ],
};

describe.each(Object.entries(forms))('in %s', (_where, list) => {
  it.each(list.map((form) => [form(values[0] as string), form] as const))('%s', (_text, form) => {
    for (const value of values) {
      const hidden = redactText(form(value));
      expect(hidden).not.toContain(value.replace(/\W/g, '').slice(0, 12));
      expect(hidden).toContain(R);
      expect(redactText(hidden)).toBe(hidden);
    }
  });
});

it('knows base64 that begins like a path', () => {
  expect(redactText('`access_token`: `/9/hGchh58Aac+2bF4a7Fh==`')).toBe(`\`access_token\`: \`${R}\``);
  expect(redactText('token -> /usr/lib/Node20/index')).toBe('token -> /usr/lib/Node20/index');
});

it('keeps what stands around a hidden value', () => {
  expect(redactText('| API_KEY | Zq7hK2mPx9Lw |\n| PORT | 80 |')).toBe(`| API_KEY | ${R} |\n| PORT | 80 |`);
  expect(redactText('{"name":"API_TOKEN","value":"x"},{"name":"PORT","value":"80"}')).toBe(
    `{"name":"API_TOKEN","value":"${R}"},{"name":"PORT","value":"80"}`,
  );
  expect(redactText('user,password\nann,Zq7hK2mPx9Lw\n\nsee a1b2c3,d4e5f6')).toBe(
    `user,password\nann,${R}\n\nsee a1b2c3,d4e5f6`,
  );
  const key = 'Public-Lines: 1\nAAAA\nPrivate-Lines: 1\nBBBB\nPrivate-MAC: 00aa\nmore';
  expect(redactText(key)).toBe(`Public-Lines: 1\nAAAA\nPrivate-Lines: 1\n${R}\nPrivate-MAC: ${R}\nmore`);
  expect(redactText('a:\n  token: |\n    x\n\n    y\n  b: c')).toBe(`a:\n  token: |\n    ${R}\n  b: c`);
});

it.each([
  { Name: 'API_TOKEN', Value: values[0] },
  { ParameterKey: 'DBPassword', ParameterValue: values[0] },
  { variable: 'API_TOKEN', value: values[0] },
  { type: 'password', value: values[0] },
  { name: 'API_TOKEN', values: [values[0]] },
  { password: { value: values[0] } },
  { kty: 'EC', x: 'a', d: values[0] },
])('is hidden in arguments: %j', (args) => {
  expect(JSON.stringify(redactArgs([args]))).not.toContain(values[0]);
});

it.each([
  '| Name | Description |\n|---|---|\n| API_KEY | The key of the API |\n| password | string, required |',
  '| `DB_PASSWORD` | required | the password of `ann` |\n| `TOKEN_TTL` | 3600 | seconds |',
  '| Field | Type |\n|---|---|\n| password | varchar(255) |\n| token | uuid4 |\n| secret | sha256 |',
  '| Password | Result |\n|---|---|\n| too short | 422 |\n| empty | refused |',
  'user,password,role\nann,changed,admin',
  'Passwords, tokens and keys\nare told apart, see rule2b, page7c',
  'const { token, user1a } = await load(id2b, x)',
  'import {\n  signingSecret,\n  hex128,\n} from "./a.ts"',
  'token -> Option<String>',
  '$this->password->reset2fa()',
  'Rename password -> passphrase',
  'fn token(&self) -> Token2 {',
  '{"name":"PORT","value":"a1b2c3d4"}',
  '- name: API_TOKEN\n  valueFrom:\n    secretKeyRef: {name: app2x, key: token2y}\n- name: PORT\n  value: a1b2c3\n',
  'type T = { kind: "password"; value: string }',
  'send "ls -la\\r"',
  'expect(screen.getByText("Sign in")).toBeVisible()',
  'channel.send("hello2you")',
  '- `API_TOKEN`: the token of the API',
  '- **Password**: at least 12 characters',
  'import { passwordField } from "./fields2/password.ts"',
  'setTokenKind("access-token")',
  '<PasswordInput className="mt2-px4" name="user1" />',
  '<secret>',
  'password  must be long',
  'grep -c password /etc/app2.conf',
  'ConvertTo-SecureString -AsPlainText',
  'a.ts:10:5:foo:bar',
  'vault login -method=oidc',
  'http -a',
  'snmpwalk --help',
  'create secret sauce --value many',
  '{"kty":"OKP","crv":"Ed25519","x":"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"}',
])('stays: %s', (text) => {
  expect(redactText(text)).toBe(text);
});

it.each([
  ...[
    '| password | a ',
    '| a\n',
    'password,a\n',
    'password |',
    '│',
    '"password": ["a", ',
    'password "abcdefg1" ',
  ],
  ...[
    'password:\n  value: ',
    'password: |\n ',
    ' password: |\n',
    'password:\n - a1b2c3\n',
    'token\n',
    'token value ',
  ],
  ...['expect password send "', 'send "a1b2c3\\r" ', 'Private-Lines: 9999\n', '---- BEGIN SSH2 PRIVATE KEY'],
  ...[
    '"kty" "d":"',
    '"value":"a","name":"',
    '<password a ',
    '<a name="password" ',
    'name="password" x value=',
  ],
  ...[
    'a:1:b:c:',
    '$1$',
    'vault login ',
    'auth=("a","',
    'password for x is ',
    'BasicAuth("',
    'create secret ',
  ],
  ...['"password":["a",', 'password=/a:', 'pwd:/a:', 'token="', "token='a=b&c"],
  ...['passwort: ', 'token  ', 'token -> ', 'api_key.', 'secret-', 'curl net use sqlplus http -a '],
])('needs linear time for a megabyte of %j', (part) => {
  const text = part.repeat(Math.ceil(1_000_000 / part.length));
  redactText(text.slice(0, 50_000));
  expect(cpuMs(() => redactText(text))).toBeLessThan(2_000);
});
