// Tokens, known by how they begin. Evaluation reads this file alone of redaction.
const { raw } = String;

/** Forms of tokens: the tests have the vendor and a public page of each. No form repeats a repetition. */
const forms: readonly string[] = [
  raw`(?:xox[bpasre](?:\.xox[bp])?-|xapp-|LTAI)[A-Za-z0-9-]{10,}`,
  raw`(?:[rs]k_(?:live|test)_|sgp_|CCIP(?:AT|RJ)_|rnd_)[A-Za-z0-9]{16,}`,
  raw`(?:hf_|do[opr]_v1_|nf[pcou]_|napi_|gsk_|xai-|pplx-|r8_|shp(?:at|ca|pa|ss)_|vercel_blob_rw_)[A-Za-z0-9]{30,}`,
  raw`(?:AKID|cio|ntn_|lin_(?:api|oauth)_|ph[xs]_|pn[ub]_|AKCp|cmVmd|oy2)[A-Za-z0-9]{32,}`,
  raw`(?:gh[oprsu]_|npm_)[A-Za-z0-9]{36,}`,
  raw`(?:A[KS]IA|ABIA|ACCA|SCW|API-|AGE-SECRET-KEY-1)[A-Z0-9]{16,}`,
  raw`(?:SK|key-|sbp_|dapi|pul-|rubygems_|CLOJARS_|bk[up]a_|sq[apu]_|lsv2_(?:pt|sk)_|x(?:key|smtp)sib-)[0-9a-f]{32,}`,
  raw`(?:AVNS_|GOCSPX-|NR(?:AK|RA|JS|II|IQ)-|pcsk_|tskey-|dckr_(?:pat|oat)_)[\w-]{15,}`,
  raw`(?:sk-|github_pat_|gl(?:pat|dt|rt|ptt|ft|imt|agent|oas|soat|cbt|ffct)-|GR1348941)[\w-]{20,}`,
  raw`(?:AT(?:BB|CTT3xFfG|ATT3)|ya29\.|sb_secret_|hv[bsr]\.|sq0(?:atp|csp|idp)-|HRKU-|mdb_sa_sk_|CFPAT-)[\w-]{20,}`,
  raw`(?:PMAK-|fig[dou]_|[MNO][\w-]{23,27}\.[\w-]{6}\.)[\w-]{20,}`,
  raw`(?:AIza|1//0|AQVN|pypi-|sha256~)[\w-]{30,}`,
  raw`(?:EAA[A-Z]|sl\.|[A-Za-z0-9]{14}\.atlasv1\.|pat[A-Za-z0-9]{14}\.|dt0[a-z]\d{2}\.[A-Z0-9]{8,24}\.)[\w=-]{60,}`,
  raw`(?:whsec_|SG\.[\w-]{16,}\.)[\w+/=-]{16,}`,
  raw`(?:fo1_|fm[12][ar]?_|pscale_(?:tkn|pw|oauth)_|ops_eyJ|sntry[su]_|gl(?:sa|c)_|dp\.[a-z]{2,5}\.)[\w+/=.-]{32,}`,
  raw`[\w.-]{3}\dQ~[\w~.-]{31,34}`,
  raw`n?-{4,5} ?BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY[\s\S]*?(?:-{4,5} ?END[^-]{0,64}-{4,5}|$)`,
  raw`Private-Lines:[ \t]{0,8}\d{1,4}\r?\n[\s\S]*?(?=\r?\nPrivate-|$)`,
  raw`eyJ[\w-]{20,}\.[\w.-]*`,
  raw`[A-Za-z0-9]{76}AZDO[A-Za-z0-9]{4}`,
  raw`[0-9a-f]{32}-us\d{1,2}(?!\d)`,
  raw`\d{8,10}:[\w-]{34,36}(?![\w-])`,
  raw`\$(?:[156y]|2[abxy]|apr1|argon2id?)\$[A-Za-z0-9./$=,+-]{16,512}`,
];

/** @param keyPrefixes of hubs' API keys beside `svk_`. A key is longer than what the hub shows of it in lists. */
export function tokenPattern(keyPrefixes: readonly string[]): RegExp {
  const prefixes = ['svk_', ...keyPrefixes].filter((prefix) => prefix !== '');
  const keys = prefixes.map((prefix) => `${prefix.replace(/\W/g, '\\$&')}[\\w-]{24,}`);
  return new RegExp(`(?:${[...forms, ...keys].join('|')})[\\w=-]*`, 'y');
}

const anyToken = tokenPattern([]);
/** True if a text begins with a token. */
export const looksSecret = (text: string): boolean => text.search(anyToken) === 0;
