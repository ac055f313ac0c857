// `reeve login-link`: a link that signs a person in once, made through the data folder of an embedded hub, which may be
// running.
import { existsSync } from 'node:fs';
import { systemClock } from '../../../adapters/node/clock.ts';
import { keepLoginLink } from '../../../adapters/node/login-links.ts';
import { createSecrets } from '../../../adapters/node/secrets.ts';
import { HubError } from '../../shared/error.ts';
import { loginLinkMs, loginLinkUrl } from '../../user/use-cases/login-links.ts';
import { readConfig, readFolderSettings } from '../config.ts';
import { readArguments } from './arguments.ts';
import { answer, refuseCluster } from './output.ts';

const help = `reeve login-link [EMAIL] [--json]

Prints a link that signs a person in without a password, once, within 5 minutes. Run it beside the hub's data folder, as the hub's user.
The hub stores only a hash of the link's token and never logs it.

  EMAIL     user to sign in [the first admin]
  --json    print the result or the error as JSON
  --help    print this text

Settings: DATA_DIR [./data], BASE_URL [http://localhost:<PORT>]. A hub with MONGODB_URL has no data folder and no sign-in links.
`;

export async function loginLink(args: readonly string[]): Promise<void> {
  const { file: email, has } = readArguments('login-link', args, []);
  await answer({ help: has('help') ? help : null, json: has('json') }, async () => {
    const { dataDir, isCluster } = readFolderSettings();
    refuseCluster(isCluster);
    if (!existsSync(dataDir))
      throw new HubError('not_found', `The data folder ${dataDir} does not exist. Set DATA_DIR.`);
    // Nothing is sealed here: any secret makes a token.
    const secrets = createSecrets('login links need no master secret');
    const token = secrets.token(32);
    const expiresAt = systemClock.now() + loginLinkMs;
    keepLoginLink(
      dataDir,
      secrets.sha256(token),
      { email: email?.toLowerCase() ?? null, expiresAt },
      systemClock.now(),
    );
    const url = loginLinkUrl(readConfig().baseUrl, token);
    return {
      result: { url, expiresAt: new Date(expiresAt).toISOString() },
      words: [url, 'Open the link within 5 minutes. It works once.'],
    };
  });
}
