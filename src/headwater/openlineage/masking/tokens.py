"""Masks the tokens of known services, which begin with a prefix of their own; case counts."""

import re

from headwater.openlineage.masking.addresses import MASK, Noted
from headwater.openlineage.masking.alternatives import join_words

# Something random has a digit or a capital, which words joined by hyphens do not.
_RANDOM = r"(?=[a-z_-]{0,64}[0-9A-Z])[\w-]"
_GITLAB = ("pat", "rt", "rtr", "dt", "ptt", "cbt", "ft", "soat", "imt", "agent", "oas", "ffct")
# A text must have one of the hints for a pattern to be tried.
TOKENS: tuple[tuple[tuple[str, ...], str], ...] = (
    (("AKIA", "ASIA"), r"\bA(?:KIA|SIA)[0-9A-Z]{16}\b"),
    (("ghp_", "gho_", "ghu_", "ghs_", "ghr_"), r"\bgh[pousr]_[A-Za-z0-9]{20,}+"),
    (("github_pat_",), r"\bgithub_pat_\w{20,}+"),
    (("glpat-",), r"(?<![\w-])glpat-[\w-]{16,}+(?:\.[0-9a-z]{2,12}){0,3}"),
    (tuple(f"gl{kind}-" for kind in _GITLAB[1:]),
     rf"(?<![\w-])gl(?:{'|'.join(_GITLAB[1:])})-{_RANDOM}{{16,}}+(?:\.[0-9a-z]{{2,12}}){{0,3}}"),
    (tuple(f"xox{kind}-" for kind in "abcdeoprs"), r"(?<![\w-])xox[abcdeoprs]-[\w%-]{10,}+"),
    (("xapp-",), r"(?<![\w-])xapp-\d-[A-Z0-9]{8,}-[\w-]{10,}+"),
    (("sk_live_", "rk_live_", "sk_test_", "rk_test_"), r"\b[sr]k_(?:live|test)_\w{10,}+"),
    (("whsec_",), r"\bwhsec_[A-Za-z0-9+/]{20,}+=*+"),
    (("sk-",), r"(?<![\w-])sk-(?:[a-z0-9]{2,8}-){0,2}[A-Za-z0-9_]{20,}[\w-]*+"),
    (("gsk_",), r"\bgsk_[A-Za-z0-9]{40,}+"),
    (("xai-",), r"(?<![\w-])xai-[A-Za-z0-9]{60,}+"),
    (("pplx-",), r"(?<![\w-])pplx-[A-Za-z0-9]{40,}+"),
    (("hf_",), r"\bhf_[A-Za-z0-9]{30,}+"),
    (("dckr_pat_", "dckr_oat_"), r"\bdckr_[po]at_[\w-]{20,}+"),
    (("AIza",), r"(?<![\w-])AIza[\w-]{35}"),
    (("ya29.",), r"(?<![\w-])ya29\.[\w-]{20,}+"),
    (("GOCSPX-",), r"(?<![\w-])GOCSPX-[\w-]{20,}+"),
    # JSON may write a slash with a backslash before it, also twice.
    (("1//0", r"1\/\/0", r"1\\/\\/0"), r"(?<![\w/.-])1//0[\w-]{30,}+"),
    (("eyJ",), r"(?<![\w-])eyJ[\w-]{8,}+\.[\w-]{8,}+(?:\.[\w-]*+)?"),
    (("dapi",), r"\bdapi[0-9a-f]{32}(?:-\d)?\b"),
    (("hvs.",), r"(?<![\w-])hvs\.[\w-]{20,}+"),
    (("hvb.", "hvr."), rf"(?<![\w-])hv[br]\.{_RANDOM}{{20,}}+"),
    (("atlasv1.",), r"(?<![\w.-])[A-Za-z0-9]{14}\.atlasv1\.[\w-]{40,}+"),
    (("npm_",), r"\bnpm_[A-Za-z0-9]{36}\b"),
    (("pypi-",), r"(?<![\w-])pypi-[\w-]{50,}+"),
    (("rubygems_",), r"\brubygems_[0-9a-f]{48}\b"),
    (("SG.",), r"(?<![\w-])SG\.[\w-]{16,}+\.[\w-]{16,}+"),
    (("dop_v1_", "doo_v1_", "dor_v1_"), r"\bdo[opr]_v1_[0-9a-f]{64}\b"),
    (("shpat_", "shpca_", "shppa_", "shpss_"), r"\bshp(?:at|ca|pa|ss)_[0-9A-Fa-f]{32}\b"),
    (("sq0csp-", "sq0atp-"), r"(?<![\w-])sq0(?:csp|atp)-[\w-]{20,}+"),
    (("ATATT3", "ATCTT3"), r"\bAT[AC]TT3[\w=+/-]{30,}+"),
    (("ATBB",), r"\bATBB[A-Za-z0-9]{24,}+"),
    (("lin_api_", "lin_oauth_"), r"\blin_(?:api|oauth)_[A-Za-z0-9]{32,}+"),
    (("ntn_",), r"\bntn_[A-Za-z0-9]{40,}+"),
    (("glsa_",), r"\bglsa_[A-Za-z0-9]{32}_[0-9a-fA-F]{8}\b"),
    (("figd_",), rf"\bfigd_{_RANDOM}{{36,}}+"),
    (("PMAK-",), r"(?<![\w-])PMAK-[0-9a-f]{24}-[0-9a-f]{34}\b"),
    (("pul-",), r"(?<![\w-])pul-[0-9a-f]{40}\b"),
    (("sbp_",), r"\bsbp_[0-9a-f]{40}\b"),
    (("NRAK-",), r"(?<![\w-])NRAK-[A-Z0-9]{27}\b"),
    (("pscale_tkn_", "pscale_pw_", "pscale_oauth_"),
     rf"\bpscale_(?:tkn|pw|oauth)_{_RANDOM}{{30,}}+"),
    (("dp.pt.", "dp.st.", "dp.sa.", "dp.ct."),
     r"(?<![\w.-])dp\.(?:pt|st|sa|ct)\.(?:[a-z0-9_-]{2,35}\.)?[A-Za-z0-9]{40,44}\b"),
    (("sntrys_", "sntryu_"), r"\bsntry[su]_[A-Za-z0-9+/=_]{40,}+"),
    (("dt0c01.", "dt0s01.", "dt0s16."), r"\bdt0[cs]\d\d\.[A-Z0-9]{24}\.[A-Z0-9]{64}\b"),
    (("AGE-SECRET-KEY-1",), r"\bAGE-SECRET-KEY-1[0-9A-Z]{58}\b"),
    (("dbtu_", "dbtc_"), r"\bdbt[uc]_[A-Za-z0-9+/=_-]{36,}+"),
    (("pnu_", "pnb_"), r"\bpn[ub]_[A-Za-z0-9]{36}\b"),
    (("hw_",), r"(?<![\w-])hw_[\w-]{43}\b"),
    (("hooks.slack.com",), r"(?<=hooks\.slack\.com/services/)[\w/]{8,}+"),
)  # fmt: skip
# As they stand in a token: `asia` in a text is a continent.
EXACT_HINTS = tuple(hint for hints, _ in TOKENS for hint in hints)
_PATTERNS = tuple((frozenset(hints), re.compile(pattern)) for hints, pattern in TOKENS)
_HINT = re.compile(join_words(EXACT_HINTS))


def mask_tokens(text: str, noted: Noted) -> str:
    """A text without the tokens of known services."""

    def masked(_: re.Match[str]) -> str:
        noted("format")
        return MASK

    if not _HINT.search(text):
        return text
    found = set(_HINT.findall(text))
    for hints, pattern in _PATTERNS:
        if not found.isdisjoint(hints):
            text = pattern.sub(masked, text)
    return text
