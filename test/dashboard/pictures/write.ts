// Writes the accepted pictures of the console: `npm run pictures`. People look at the difference before they commit it.
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { browser, startedHub } from '../browser.ts';
import { arrange, drawing, takePictures } from './scenes.ts';

const [folder = new URL('accepted', import.meta.url).pathname] = process.argv.slice(2);
rmSync(folder, { recursive: true, force: true });
mkdirSync(folder, { recursive: true });
const { hub, cookie } = await startedHub();
try {
  const { scenes, close } = await arrange(hub, cookie);
  for await (const { name, png } of takePictures(hub, cookie, scenes))
    writeFileSync(`${folder}/${name}.png`, png);
  writeFileSync(`${folder}/drawing.json`, `${JSON.stringify(await drawing(), null, 2)}\n`);
  close();
} finally {
  await (await browser()).close();
  await hub.remove();
}
