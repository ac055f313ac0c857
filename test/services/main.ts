// Runs the servers by hand: `node --import tsx test/services/main.ts` prints their addresses as shell assignments and
// runs until stopped.
import { once } from 'node:events';
import { startServices } from './start.ts';

const services = await startServices();
process.stdout.write(`MONGODB_URL='${services.mongoUrl}'\nREDIS_URL='${services.redisUrl}'\n`);
const keepAlive = setInterval(() => {}, 60_000);
await Promise.race([once(process, 'SIGINT'), once(process, 'SIGTERM')]);
clearInterval(keepAlive);
await services.stop();
