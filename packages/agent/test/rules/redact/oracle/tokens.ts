// The look of a secret by itself: tokens by their prefix, keys in files, stored passwords. Does not look at names.

/** The characters behind a prefix, and the prefixes. The tests have the vendor and a public page of each. */
const prefixes: readonly string[] = [
  '[A-Za-z0-9-]{10,} => xox[bpasre](?:\\.xox[bp])?- xapp-',
  '[A-Za-z0-9]{16,} => [rs]k_(?:live|test)_ sgp_ CCIP(?:AT|RJ)_ rnd_',
  '[A-Za-z0-9]{30,} => hf_ do[opr]_v1_ nf[pcou]_ napi_ gsk_ xai- pplx- r8_ shp(?:at|ca|pa|ss)_ vercel_blob_rw_',
  '[A-Za-z0-9]{32,} => AKID cio ntn_ lin_(?:api|oauth)_ ph[xs]_ pn[ub]_ AKCp cmVmd',
  '[A-Za-z0-9]{36,} => gh[oprsu]_ npm_',
  '[A-Za-z0-9]{12,} => LTAI',
  '[A-Z0-9]{16,} => A[KS]IA ABIA ACCA SCW',
  '[A-Z0-9]{25,} => API- AGE-SECRET-KEY-1',
  '[0-9a-f]{32,} => SK key- sbp_ dapi pul- rubygems_ CLOJARS_ bk[up]a_ sq[apu]_ lsv2_(?:pt|sk)_ x(?:key|smtp)sib-',
  '[a-z0-9]{43} => oy2',
  '[\\w-]{15,} => AVNS_ GOCSPX- NR(?:AK|RA|JS|II|IQ)- pcsk_ tskey- dckr_(?:pat|oat)_',
  '[\\w-]{20,} => sk- github_pat_ gl(?:pat|dt|rt|ptt|ft|imt|agent|oas|soat|cbt|ffct)- GR1348941 AT(?:BB|CTT3xFfG|ATT3)',
  '[\\w-]{20,} => ya29\\. sb_secret_ hv[bsr]\\. sq0(?:atp|csp|idp)- HRKU- mdb_sa_sk_ CFPAT- PMAK- fig[dou]_',
  '[\\w-]{20,} => [MNO][\\w-]{23,27}\\.[\\w-]{6}\\.',
  '[\\w-]{30,} => AIza 1//0 AQVN pypi- sha256~',
  '[\\w=-]{60,} => EAA[A-Z] sl\\. [A-Za-z0-9]{14}\\.atlasv1\\. pat[A-Za-z0-9]{14}\\. dt0[a-z]\\d{2}\\.[A-Z0-9]{8,24}\\.',
  '[\\w+/=-]{16,} => whsec_ SG\\.[\\w-]{16,}\\.',
  '[\\w+/=.-]{32,} => fo1_ fm[12][ar]?_ pscale_(?:tkn|pw|oauth)_ ops_eyJ sntry[su]_ gl(?:sa|c)_ dp\\.[a-z]{2,5}\\.',
  '[\\w~.-]{31,34} => [\\w.-]{3}\\dQ~',
];
/** All tokens but a hub's keys. No pattern repeats a repetition, so each reads a text once. */
export const tokenPatterns: readonly string[] = [
  'n?-----BEGIN [A-Z ]{0,40}PRIVATE KEY[\\s\\S]*?(?:-----END[^-]{0,64}-----|$)',
  '---- BEGIN SSH2 [A-Z ]{0,20}PRIVATE KEY[\\s\\S]*?(?:---- END[^-]{0,64}----|$)',
  'eyJ[\\w-]{20,}\\.[\\w.-]*',
  '[A-Za-z0-9]{76}AZDO[A-Za-z0-9]{4}',
  '[0-9a-f]{32}-us\\d{1,2}(?!\\d)',
  '\\d{8,10}:[\\w-]{34,36}(?![\\w-])',
  '\\$(?:[156y]|2[abxy]|apr1|argon2id?)\\$[A-Za-z0-9./$=,+-]{16,512}',
  ...prefixes.flatMap((row) => {
    const [rest, prefix = ''] = row.split(' => ');
    return prefix.split(' ').map((one) => `${one}${rest}[\\w=-]*`);
  }),
];

/** A hub's own key: its prefix (`svk_` is the default), and more than the hub shows of a key in lists. */
const hubKey = (prefix: string): string =>
  `${prefix.replace(/\W/g, (c) => `\\x${c.charCodeAt(0).toString(16).padStart(2, '0')}`)}[\\w-]{24,}`;

/** @param keyPrefixes of hubs' API keys besides `svk_`; ASCII, one that is empty counts for nothing */
export function secretTest(keyPrefixes: Iterable<string> = []) {
  const hubs = ['svk_', ...keyPrefixes].filter((prefix) => prefix !== '');
  const any = [...tokenPatterns, ...hubs.map(hubKey)].join('|');
  const start = new RegExp(`^(?:${any})`);
  return { looksSecret: (value: string): boolean => start.test(value), tokens: new RegExp(any, 'y') };
}
/** True when a text starts like a known kind of secret: an API key, a cloud key, a JWT, a chat token, a private key. */
export const { looksSecret } = secretTest();
