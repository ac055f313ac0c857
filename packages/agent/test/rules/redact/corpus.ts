// Texts with a secret, form by form, and ordinary texts of the same forms: what redaction is measured by.
import { ordinaryCommands } from '../sandbox/ordinary.ts';

/** A text and the parts of it that nobody may read. */
export interface SecretText {
  readonly form: string;
  readonly text: string;
  readonly secrets: readonly string[];
}

const R = '[REDACTED]';

/** Drawn by a machine, chosen by a person, in hexadecimal digits, in base64. */
const drawnValues = ['Zq7hK2mPx9Lw', 'hunter2Blue!', '9f8e7d6c5b4a3f2e1d0c', 'aB3dE6gH9kLmNoPqRsTuVw=='];

/** Values apart from their names, each with every drawn value. */
const formsApart: { readonly [place: string]: readonly ((value: string) => string)[] } = {
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

const drawn = drawnValues[0] as string;
const nameWords = [
  'password',
  'secret',
  'api key',
  'access token',
  'client secret',
  'ssh key',
  'connection string',
];
const writings: readonly ((name: string) => string)[] = [
  (name) => name.replace(/ (.)/g, (_, letter: string) => letter.toUpperCase()),
  (name) => `my ${name}`.replace(/ (.)/g, (_, letter: string) => letter.toUpperCase()),
  (name) => name.replaceAll(' ', '_'),
  (name) => name.replaceAll(' ', '-'),
  (name) => `MY_${name.replaceAll(' ', '_').toUpperCase()}`,
  (name) => `app.${name.replaceAll(' ', '_')}`,
  (name) => `${name.replaceAll(' ', '_')}2`,
  (name) => name.replaceAll(' ', ''),
];
export const secretNames = nameWords.flatMap((word) => writings.map((write) => write(word)));
const formsByName: readonly ((name: string) => string)[] = [
  (name) => `${name}=${drawn} make`,
  (name) => `export ${name}="${drawn}"`,
  (name) => `a: b\n${name}: ${drawn}\nc: d`,
  (name) => `{"a":1,"${name}":"${drawn}","b":2}`,
  (name) => JSON.stringify({ x: JSON.stringify({ [name]: drawn }) }),
  (name) => `https://a.com/x?b=1&${name}=${drawn}&c=2`,
  (name) => `tool --${name} '${drawn}' x`,
  (name) => `curl -H '${name}: ${drawn}' https://a.com`,
  (name) => `Server=a;${name}=${drawn};Trusted=no`,
  (name) => `os.environ["${name}"] = "${drawn}"`,
  (name) => `config['${name}']='${drawn}'`,
  (name) => `<${name}>${drawn}</${name}>`,
  (name) => `<add key="${name}" value="${drawn}" />`,
  (name) => `setenv ${name} ${drawn}`,
  (name) => `FROM a\nENV ${name} ${drawn}`,
  (name) => encodeURIComponent(`${name}=${drawn}`),
  (name) => `https://a.com/login?next=${encodeURIComponent(`/b?${name}=${drawn}`)}`,
];
/** A text, and the same with its secrets hidden. */
export const pairsByProgram: readonly (readonly [text: string, hidden: string])[] = [
  [`curl -su ann:${drawn} https://a.com`, `curl -su ann:${R} https://a.com`],
  [`curl -b 'sid=${drawn}' https://a.com`, `curl -b 'sid=${R}' https://a.com`],
  [`curl --cookie "sid=${drawn}" https://a.com`, `curl --cookie "sid=${R}" https://a.com`],
  [`smbclient //h/s -U u%${drawn}`, `smbclient //h/s -U u%${R}`],
  [`openssl enc -k ${drawn} -in a`, `openssl enc -k ${R} -in a`],
  [`htpasswd -bc f u ${drawn}`, `htpasswd -bc f u ${R}`],
  [`echo ${drawn} | sudo -S ls`, `echo ${R} | sudo -S ls`],
  [`echo ${drawn} | docker login -u a --password-stdin`, `echo ${R} | docker login -u a --password-stdin`],
  [`gh secret set A --body ${drawn}`, `gh secret set A --body ${R}`],
  [`SET PASSWORD FOR a = PASSWORD("${drawn}")`, `SET PASSWORD FOR a = PASSWORD('${R}')`],
  [`_auth=${drawn}`, `_auth=${R}`],
  [`git clone https://${drawn}${drawn}@github.com/a/b`, `git clone https://${R}@github.com/a/b`],
  [`https://hooks.slack.com/services/T0/B0/${drawn}`, `https://hooks.slack.com/services/${R}`],
  [`https://discord.com/api/webhooks/12/${drawn}`, `https://discord.com/api/webhooks/12/${R}`],
  [`https://api.telegram.org/bot12:${drawn}/x`, `https://api.telegram.org/bot12:${R}`],
  [
    `https://a.blob.core.windows.net/c?sv=1&sig=${drawn}%3D&x=1`,
    `https://a.blob.core.windows.net/c?sv=1&sig=${R}&x=1`,
  ],
  [
    `https://b.s3.amazonaws.com/k?X-Amz-Signature=${drawn}`,
    `https://b.s3.amazonaws.com/k?X-Amz-Signature=${R}`,
  ],
  [`xapp-1-A0-${drawn}`, R],
  [`shpat_${drawn}${drawn}${drawn}`, R],
  [`dop_v1_${drawn.repeat(4)}`, R],
  [`hvs.${drawn.repeat(3)}`, R],
];

export const pairsInSentences: readonly (readonly [text: string, hidden: string])[] = [
  ['The password is hunter2.', `The password is ${R}`],
  ['my password is: S3cret!pw thanks', `my password is: ${R} thanks`],
  ['log in with PASSWORD hunter2', `log in with PASSWORD ${R}`],
  ['use ann and passphrase tr0ub4dor&3', `use ann and passphrase ${R}`],
  ['password was changed to "Winter#2024"', `password was changed to "${R}"`],
  ['password (for ann): Winter#2024', `password (for ann): ${R}`],
  ['the password for ann is Winter#2024', `the password for ann is ${R}`],
  ['Passwort: geheim!', `Passwort: ${R}`],
  ['mot de passe : s3same', `mot de passe : ${R}`],
  ['use the token `a8f3k2m9x7`', `use the token \`${R}\``],
  ['password changed to "Winter#2024"', `password changed to "${R}"`],
  ['the password is set to P@ssword', `the password is set to ${R}`],
  ['the token is a8f3k2m9x7', `the token is ${R}`],
  ['our api key is 9f8e7d6c5b4a', `our api key is ${R}`],
  ['OTP: 482913 (valid for 5 min)', `OTP: ${R} (valid for 5 min)`],
  ['npm publish --otp 482913', `npm publish --otp ${R}`],
  ['npm publish --otp=482913', `npm publish --otp=${R}`],
  ['pin=4821', `pin=${R}`],
  ['{"pin":"4821","x":1}', `{"pin":"${R}","x":1}`],
  ['{"otp": 482913}', `{"otp": ${R}}`],
];

export const pairsInline: readonly (readonly [text: string, hidden: string])[] = [
  ['export API_KEY=abc123 && run', `export API_KEY=${R} && run`],
  ['export DB_PASSWORD="two words" x', `export DB_PASSWORD="${R}" x`],
  ['export MY_TOKEN=a; export B_CREDENTIALS=b', `export MY_TOKEN=${R} export B_CREDENTIALS=${R}`],
  ['export PATH=/bin', 'export PATH=/bin'],
  ['export KEYRING=x', `export KEYRING=${R}`],
  ['export api_key=abc', `export api_key=${R}`],
  ['API_KEY=abc run', `API_KEY=${R} run`],
  [`export DB_PASS='a b'; run`, `export DB_PASS='${R}'; run`],
  ['smtp_pass: abc', `smtp_pass: ${R}`],
  ['PGPASSWORD=abc psql -h db', `PGPASSWORD=${R} psql -h db`],
  [`PGPASSWORD='a b' psql`, `PGPASSWORD='${R}' psql`],
  [`sh -c "PGPASSWORD=abc psql"`, `sh -c "PGPASSWORD=${R} psql"`],
  [`sh -c 'psql PGPASSWORD=abc'`, `sh -c 'psql PGPASSWORD=${R}'`],
  ['env AWS_SECRET_ACCESS_KEY=a/b+c aws s3 ls', `env AWS_SECRET_ACCESS_KEY=${R} aws s3 ls`],
  ['$env:MY_PASSWORD = "x y"', `$env:MY_PASSWORD = "${R}"`],
  ['set MYSQL_PWD=abc', `set MYSQL_PWD=${R}`],
  ['aws configure set aws_secret_access_key abc', `aws configure set aws_secret_access_key ${R}`],
  ['Authorization: Bearer abc.def', `Authorization: ${R}`],
  ['curl -H "Authorization: Bearer abc def" x', `curl -H "Authorization: ${R}" x`],
  [`curl -H 'authorization: Basic YTpi' x`, `curl -H 'authorization: ${R}' x`],
  ['Proxy-Authorization: x y\nHost: z', `Proxy-Authorization: ${R}\nHost: z`],
  ['sent Bearer abcdef123456 to it', `sent Bearer ${R} to it`],
  ['Cookie: a=b; c=d', `Cookie: ${R}`],
  ['curl -H "X-Api-Key: abc" x', `curl -H "X-Api-Key: ${R}" x`],
  ['curl -u ann:pw https://x', `curl -u ann:${R} https://x`],
  ['curl -uann:pw x', `curl -uann:${R} x`],
  ['curl -u "ann:p w" x', `curl -u "ann:${R}" x`],
  [`curl --user 'ann:pw' x`, `curl --user 'ann:${R}' x`],
  ['curl --proxy-user=ann:p:w x', `curl --proxy-user=ann:${R} x`],
  ['docker run -u 1000:1000 x', 'docker run -u 1000:1000 x'],
  ['scan -u https://x', 'scan -u https://x'],
  ['tool --api-key abc --x', `tool --api-key ${R} --x`],
  ['tool --token=abc', `tool --token=${R}`],
  ['tool --password --quiet', 'tool --password --quiet'],
  ['docker login --password-stdin', 'docker login --password-stdin'],
  ['redis-cli -a abc ping', `redis-cli -a ${R} ping`],
  ['ls -a abc; redis-cli -h x', 'ls -a abc; redis-cli -h x'],
  ['openssl rsa -passin pass:abc -in k', `openssl rsa -passin pass:${R} -in k`],
  ['zip -P abc x.zip y', `zip -P ${R} x.zip y`],
  [`{"password":"a\\"b","x":1}`, `{"password":"${R}","x":1}`],
  [`{"apiKey": 12345, "x": 1}`, `{"apiKey": ${R}, "x": 1}`],
  [`curl -d "{\\"token\\":\\"abc\\",\\"x\\":1}"`, `curl -d "{\\"token\\":\\"${R}\\",\\"x\\":1}"`],
  [`{'client_secret': 'abc'}`, `{'client_secret': '${R}'}`],
  ['db:\n  password: a b c\n  user: x', `db:\n  password: ${R}\n  user: x`],
  ['password = abc', `password = ${R}`],
  [':password => "abc"', `:password => "${R}"`],
  ['https://x/y?access_token=abc&z=1', `https://x/y?access_token=${R}&z=1`],
  ['https://x/y?a=1&api_key=abc#f', `https://x/y?a=1&api_key=${R}`],
  ['https://x/cb#id_token=abc&s=1', `https://x/cb#id_token=${R}&s=1`],
  ['Server=x;User Id=sa;Password=p,w;Encrypt=no', `Server=x;User Id=sa;Password=${R};Encrypt=no`],
  ['DSN=x;UID=sa;PWD=abc', `DSN=x;UID=sa;PWD=${R}`],
  ['AccountName=a;AccountKey=bc==;E=f', `AccountName=a;AccountKey=${R};E=f`],
  ['cache.x:6380,password=abc,ssl=True', `cache.x:6380,password=${R},ssl=True`],
  ['host=h user=u password=p dbname=d', `host=h user=u password=${R} dbname=d`],
  ['jdbc:mysql://h/d?user=u&password=p&ssl=1', `jdbc:mysql://h/d?user=u&password=${R}&ssl=1`],
  ['jdbc:oracle:thin:scott/tiger@h:1521', `jdbc:oracle:thin:scott/${R}@h:1521`],
  [`CREATE USER x IDENTIFIED BY 'p w'`, `CREATE USER x IDENTIFIED BY '${R}'`],
  [`ALTER ROLE x WITH PASSWORD 'pw';`, `ALTER ROLE x WITH PASSWORD '${R}';`],
  ['machine h login u password p', `machine h login u password ${R}`],
  ['a -----BEGIN RSA PRIVATE KEY-----\nx\n-----END RSA PRIVATE KEY----- b', `a ${R} b`],
  ['-----BEGIN PRIVATE KEY----- x', R],
  ['//registry.npmjs.org/:_authToken=abc', `//registry.npmjs.org/:_authToken=${R}`],
  ['mysql -psecret -u me', `mysql -p${R} -u me`],
  ['mysql -p secret', `mysql -p ${R}`],
  ['mkdir -p /tmp/x', `mkdir -p ${R}`],
  ['tool --password=hunter2 x', `tool --password=${R} x`],
  ['tool --password hunter2', `tool --password ${R}`],
  ["tool --password 'two words' x", `tool --password '${R}' x`],
  ['git push top-priority', 'git push top-priority'],
  ['postgres://user:pa@ss@host/db', `postgres://user:${R}@host/db`],
  ['redis://:pw@host:6379', `redis://:${R}@host:6379`],
  [
    'see postgres://my-user:pw@host/db and http://a:b@c',
    `see postgres://my-user:${R}@host/db and http://a:${R}@c`,
  ],
  ['https://example.com:8080/x?mail=a@b', 'https://example.com:8080/x?mail=a@b'],
  ['https://example.com/path', 'https://example.com/path'],
];

export const sentences = `
Fix the password reset flow
Add a password field to the sign-up form
The password is required
password is incorrect
password is too short (minimum is 8 characters)
The password is hashed with bcrypt before it is stored
password hashing uses argon2id
password hash is sha256
Switch password storage to PBKDF2
password policy: at least 12 characters
Validate password length >= 8
show/hide password toggle
PASSWORD REQUIRED
PASSWORD_MIN_LENGTH must be 8
Rename password to passphrase
password confirmation does not match
Move the password check to validators.ts
password.test.ts fails on line 42
Update password reset-2024 template
Close password ticket JIRA-1234
Extract password max_length_8 into a constant
The password rule12 is too strict
password step2 of the wizard
forgot password link returns 404
The password was changed successfully
password is stored in the environment
Never log the password
passwords are compared in constant time
passwd file is not readable
The passphrase is optional
Add tests for password strength meter
user entered wrong password 3 times
password expires in 90 days
Password manager integration
The token is expired
The token is invalid or has been revoked
token is base64url encoded
the token is HS256 signed
Refresh the access token when it expires
token count is 12345678
max token is 100000000
The tokenizer splits on whitespace
lexer: token is an identifier
next token was unexpected
parse the token as an integer
secret is mounted at /run/secrets
The secret is rotated weekly
secret is stored in the keychain
The api key is missing
api key is read from the environment
API key was not found
The access key is optional here
primary key is composite
foreign key to users
sort key is created_at
press any key to continue
Pin the dependency to 4.17.21
pin 1.2.3
pin lodash 4.17.21 in package.json
Pin actions/checkout to a commit
pin version 2024.1
pinned 4821 messages
The map pin is misplaced
GPIO pin 13 is high
set pin 21 as output
connect pin 4 to ground
spin 1000 times
Erlang/OTP 27 is required
OTP 26.2.5
Upgrade to OTP 25
OTP supervisors restart the child
otp verification screen
Add OTP input with 6 digits
verification code expires after 10 minutes
The verification code is 6 digits long
exit code is 1234
status code 4040
error code 10061
zip code 90210
security code review
code 482913 lines of Rust
port is 8080
listening on 0.0.0.0:3000
commit a1b2c3d4 fixes it
issue is 1234
pid is 48213
build number 482913
the id is 550e8400e29b
timeout was 30000
retry as user2 later
login as admin1 failed
session is abc123
id is user_12345
Read src/auth/password.ts
grep -rn "password is" src
git commit -m "tokens: count input and output"
see docs/otp.md and docs/pin.md
if (password !== confirm) throw new Error
return token ?? null
rotate secret key material
a private key is generated on first start
access key was rotated in 2024
use oauth2 token as bearer
password oauth2 grant is deprecated
enter your pin code
TOTP is off by default
2FA code is asked for once
The SMS code is valid for 300 seconds
Passcode is four digits
`
  .trim()
  .split('\n');

export const ordinaryTexts: readonly string[] = [
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
  'max_tokens=100 temperature=0.5',
  'sorted(rows, key=len)',
  'SELECT * FROM t WHERE primary_key = 5',
  'the tokens: 12 in, 30 out',
  'MAX_TOKENS=100 python run.py',
  'export MAX_OUTPUT_TOKENS=5',
  'git commit -m "auth: rename the header"',
  'see https://example.com/a:b?page=2#top',
  'user@example.com wrote: hello',
  'grep -rn "a|b" src --include=*.ts',
  'npm test 2>/dev/null && echo ok',
  'Content-Type: application/json',
  'tar -C /tmp -xzf a.tgz',
  'kubectl get pods -n monkey --sort-by=name',
  'basic configuration of the bearer',
  'for (const key of keys) map[key] = value;',
  '12:30:05 INFO keyboard: connected',
  'PWD=/srv/app make',
  'ssh ann@host:2222',
  'color: #fff; width: 10px',
  ...['<input name="keyword" value="abc" />', '<token>', '<div>secret</div>', 'config["path"] = "/a"'],
  ...['https://a.com/?q=a%3Db%26c%3Dd', 'see https://a.com/a%20b%22c%22', 'echo hello | sudo tee /etc/x'],
  ...['{"input_tokens": 5, "outputTokens": 7, "max_output_tokens": 9}', 'pwd=/home/ann', 'set -x'],
  ...[btoa('{"a":"b","c":[1,2,3]}'), btoa('{"input_tokens":512}'), 'https://some-long-user-name-here@a.com'],
  ...[
    'curl -b cookies.txt https://a.com',
    'curl -sb jar https://a.com',
    'openssl x509 -in a.pem',
    'ENV NODE_ENV test',
  ],
  ...['git clone https://github.com/a/b', 'https://a.com/?signature=none&sigma=2', 'setTimeout(a, 5)'],
  ...sentences,
  ...ordinaryCommands.filter((command) => !/\s-p\s|@|PASSWORD|TOKEN|DATABASE_URL/.test(command)),
];

/** Parts whose repetition was slow once, or could be. */
export const repeatedParts: readonly string[] = [
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
  ...(
    [
      ['exports', 'export KEY'],
      ['key names', `export ${'KEY'.repeat(3)}`],
      ['flags', '-p '],
      ['url starts', '://a:'],
      ['odd url starts', '://.:'],
      ['tokens', 'eyJ-'],
      ['ats', '://a.b:@'],
      ['quotes', `export KEY="'`],
      ['open quotes', `token='a=" `],
      ['names', 'password'],
      ['colons', 'password: '],
      ['words', 'a '],
      ['blanks', 'token    '],
      ['escapes', 'token=\\\\"'],
      ['private keys', '-----BEGIN PRIVATE KEY'],
      ['logins', 'login x '],
      ['thin drivers', ':thin:/@'],
      ['drivers', '@tcp(:'],
      ['users', '-u a:'],
      ['flags by name', '--token '],
      ['camels', 'aB'],
      ['programs', 'redis-cli -a x '],
      ['sentences', 'password is '],
      ['spoken values', 'token is set to a1-'],
      ['codes', 'pin 123 '],
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
    ] as const
  ).map(([, part]) => part),
];

/** Secrets that stay visible: nothing before the value names it, or a code stands behind a word of a sentence. */
const pairsMissed: readonly (readonly [text: string, hidden: string])[] = [
  ['root:pw@tcp(h:3306)/d', `root:${R}@tcp(h:3306)/d`],
  ['PIN 4821', `PIN ${R}`],
  ['her pin is 482913, keep it', `her pin is ${R}, keep it`],
  ['the OTP is 482 913', `the OTP is ${R}`],
  ['your verification code is 482913', `your verification code is ${R}`],
  ['enter one-time password 48291377', `enter one-time password ${R}`],
];

/** The parts of a text that its hidden form replaces. */
function secretsOf(text: string, hidden: string): readonly string[] {
  const secrets: string[] = [];
  let at = 0;
  const kept = hidden.split('[REDACTED]');
  for (const [i, part] of kept.entries()) {
    const next = part === '' && i === kept.length - 1 ? text.length : text.indexOf(part, at);
    // Values that are replaced with their quotes.
    if (next < 0) return [drawn];
    if (i > 0) secrets.push(text.slice(at, next).replace(/^["']|["']$/g, ''));
    at = next + part.length;
  }
  return secrets.filter((secret) => secret.trim().length > 1);
}

const pairs = [...pairsByProgram, ...pairsInSentences, ...pairsInline, ...pairsMissed];

/** Every secret: by its name, by program, in a sentence, and apart from its name. */
export const secretTexts: readonly SecretText[] = [
  ...secretNames.flatMap((name) =>
    [...formsByName.map((form) => form(name)), `x ${btoa(JSON.stringify({ [name]: drawn }))} y`].map(
      (text, i) => ({
        form: formsByName[i]?.('password') ?? 'JSON in base64',
        text,
        secrets: [drawn, btoa(drawn)],
      }),
    ),
  ),
  ...Object.values(formsApart).flatMap((forms) =>
    forms.flatMap((form) =>
      drawnValues.map((value) => ({
        form: form(drawn),
        text: form(value),
        secrets: [value.replace(/\W/g, '').slice(0, 12)],
      })),
    ),
  ),
  ...pairs
    .filter(([text, hidden]) => text !== hidden)
    .map(([text, hidden]) => ({ form: text, text, secrets: secretsOf(text, hidden) })),
];

/** Arguments with a secret under a name. */
export const secretArguments = (name: string): readonly unknown[] => [
  { [name]: drawn },
  { headers: [[name, drawn]] },
  { env: [`${name}=${drawn}`] },
  { args: [`--${name}`, drawn] },
  { body: JSON.stringify({ [name]: drawn }) },
  { name, value: drawn },
];
