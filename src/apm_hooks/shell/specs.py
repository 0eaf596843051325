"""What the plain kind of program does with its words, one line each, in the form of `shell.options`.

Only what can touch files is told apart; all that a line does not name is an option that is not known, and so a doubt.
"""

from __future__ import annotations

import re
from functools import cache

# Programs of one line share it; the names stand before the first colon. An indented line goes on with the one before.
_LINES = r"""
cat tac gcat: r | AbeEnstTuvlhrsV | show-all number-nonblank show-ends number squeeze-blank show-tabs
  show-nonprinting before regex separator:-
bat batcat: r | AnpPfuhrS l:- H:- r:- m:- | plain number show-all language:- highlight-line:- line-range:- style:-
  theme:- paging:- color:- decorations:- wrap:- file-name:- tabs:- no-pager
head ghead: r | qvz0123456789 n:- c:- | lines:- bytes:- quiet silent verbose zero-terminated
tail gtail: r | fFqrvz0123456789 n:- c:- s:- b:- | lines:- bytes:- follow:?- pid:- retry sleep-interval:- quiet
  silent verbose zero-terminated max-unchanged-stats:-
nl: r | p b:- d:- f:- h:- i:- l:- n:- s:- v:- w:- | body-numbering:- number-format:- number-width:- line-increment:-
  starting-line-number:-
wc: r | cmlLw | bytes chars lines words max-line-length total:- files0-from:i
strings: r | afhow n:- t:- e:- s:- | all bytes:- radix:- encoding:-
od: r | abcdfilosxv A:- j:- N:- S:- t:- w:? | address-radix:- skip-bytes:- read-bytes:- format:- strings:- width:?-
  output-duplicates traditional
xxd: r w | abeEiprsuCR c:- g:- l:- o:- s:- n:- | plain revert postscript bits include
hexdump hd: r | bcCdovx n:- s:- e:- L:? f:r | no-squeezing canonical
base64 base32 basenc: r | dDi w:- b:- | decode ignore-garbage wrap:-
md5sum sha1sum sha224sum sha256sum sha384sum sha512sum b2sum cksum sum shasum md5: r | btzrsqU a:- l:- p | binary
  text zero tag algorithm:- length:- untagged
sort gsort: r | bdfghiMnrRVcCmsuz k:- t:- S:- o:w T:w | ignore-leading-blanks dictionary-order ignore-case
  general-numeric-sort human-numeric-sort ignore-nonprinting month-sort numeric-sort random-sort reverse
  version-sort merge stable unique zero-terminated key:- field-separator:- buffer-size:- parallel:- output:w
  temporary-directory:w random-source:r check:?- sort:- batch-size:- debug files0-from:i
uniq: r w | cdDiuz f:- s:- w:- | count repeated all-repeated:?- skip-fields:- group:?- ignore-case skip-chars:-
  unique zero-terminated check-chars:-
cut: r | nsz b:- c:- d:- f:- | bytes:- characters:- delimiter:- fields:- complement only-delimited
  output-delimiter:- zero-terminated
paste: r | sz d:- | delimiters:- serial zero-terminated
join: r | iz a:- e:- j:- o:- t:- v:- 1:- 2:- | ignore-case check-order nocheck-order header zero-terminated
comm: r | 123z | check-order nocheck-order output-delimiter:- total zero-terminated
fold: r | bsc w:- | bytes spaces width:- characters
fmt: r | cstu0123456789 w:- g:- p:- | width:- goal:- split-only prefix:- tagged-paragraph uniform-spacing
  crown-margin
expand unexpand: r | iat:- t:- | initial tabs:- all first-only
rev: r | 0 |
column: r | Jextn c:- d R:- s:- o:- N:- l:- H:- T:- | table separator:- output-separator:- table-columns:- json
pr: r | acdfFJmrtTv0123456789 D:- e:? h:- i:? l:- n:? N:- o:- s:? S:? w:- W:- | columns:- header:- length:-
  omit-header width:-
tsort: r | |
iconv: r | cls f:- t:- o:w | from-code:- to-code:- output:w list silent
zcat gzcat bzcat xzcat zstdcat lz4cat: r | fhklLrtvVqcd | force quiet stdout
file: r | bchiklLNprsSvzZ0 f:i F:- m:r e:- P:- | brief mime mime-type mime-encoding dereference files-from:i
  magic-file:r separator:- uncompress
stat gstat: l | LftFlnqrsx c:- | dereference file-system format:- printf:- terse cached:-
readlink realpath greadlink grealpath: l | eEfmnqsvzLP | canonicalize canonicalize-existing canonicalize-missing
  no-newline quiet silent verbose zero relative-to:l relative-base:l logical physical strip no-symlinks
du gdu: L | 0abcDhHklLmPsSx d:- B:- t:- X:r | apparent-size all block-size:- bytes total dereference max-depth:-
  human-readable si summarize separate-dirs one-file-system exclude:- exclude-from:r time:?- threshold:-
  files0-from:i inodes null | here
df: l | aBhHiklPTv t:- x:- B:- | all human-readable inodes local portability print-type si total type:-
  exclude-type:- output:?- block-size:-
pathchk namei lsattr getfacl getfattr: l | alRdpvxmnoP |
touch: w | acfhm t:- d:- r:l A:- | no-create date:- reference:l time:- no-dereference
truncate: w | cor s:- r:l | no-create io-blocks reference:l size:-
mkdir: w | pv m:- Z | parents mode:- verbose
rmdir: d | pv | parents verbose ignore-fail-on-non-empty
unlink: d | |
tee: w | aip | append ignore-interrupts output-error:?-
sponge: w | a |
mkfifo: w | m:- Z | mode:-
mktemp: w | dqut p:w | directory dry-run quiet suffix:- tmpdir:?w
cmp: r r - | bls n:- i:- | print-bytes ignore-initial:- verbose bytes:- quiet silent
diff colordiff gdiff: R | abBcdeEilnNpqrstTuvwyZ0123456789 C:- U:- D:- F:- I:- L:- S:- W:- x:- X:r | brief
  report-identical-files context:?- unified:?- ed normal rcs side-by-side width:- left-column suppress-common-lines
  show-c-function show-function-line:- label:- expand-tabs initial-tab tabsize:- suppress-blank-empty paginate
  recursive no-dereference new-file unidirectional-new-file ignore-file-name-case no-ignore-file-name-case exclude:-
  exclude-from:r starting-file:- from-file:r to-file:r ignore-case ignore-tab-expansion ignore-trailing-space
  ignore-space-change ignore-all-space ignore-blank-lines ignore-matching-lines:- strip-trailing-cr text
  line-format:- color:?- minimal speed-large-files horizon-lines:- ifdef:-
diff3 sdiff: r | aAeEilmTxX3 o:w w:- | output:w width:-
glow mdcat: r | pls:- w:- | pager style:- width:-
jsonlint xmlwf: r | qct |
dos2unix unix2dos: b | bcfhiklLmNoqrsvu n | keepdate force newfile quiet
nano pico micro hx helix joe ne mcedit: b | ABbcDdeFGgHhIiKklLMmnoPpqRSstUuvWwxyZz% T:- r:- |
code subl gedit kate mate cursor zed: b | nrwga | wait new-window reuse-window goto add diff
ls gls dir vdir lsd: l | 1aAbBcCdDfFgGhHiklLmnNopqQrStuUvxXZ@O T:- I:- w:- R | all almost-all author escape
  block-size:- ignore-backups color:?- directory dired classify:?- file-type format:- full-time
  group-directories-first no-group human-readable si dereference-command-line dereference hide:- hyperlink:?-
  indicator-style:- inode ignore:- kibibytes literal hide-control-chars show-control-chars quote-name
  quoting-style:- reverse recursive size sort:- time:- time-style:- tabsize:- width:- context zero icons:?- | here
  rec=R,recursive
exa eza: l | 1aAbBdDeEfFgGhHiIlmMnNoOrsStTuUvxXZ@R L:- I:- s:- t:- w:- | long grid oneline recurse tree level:- all
  sort:- icons:?- git color:?- group-directories-first git-ignore ignore-glob:- header | here rec=R,T,recurse,tree
tree: L | adflpsughDFqNQrtvcUSinACxJX L:- P:- I:- H:- T:- o:w | dirsfirst noreport filelimit:- charset:- du prune
  gitignore matchdirs ignore-case inodes device sort:?- filesfirst info timefmt:- | here
pwd: - | LPW | logical physical
dirname: - | z | zero
basename: - | az s:- | multiple suffix:- zero
seq: - | w f:- s:- | format:- separator:- equal-width
sleep true false nproc whoami uname arch tty uptime free yes id groups logname users ps pgrep kill pkill killall
  jobs wait bg fg disown times umask ulimit type which whereis lscpu lsblk vmstat getconf cal ncal factor expr
  uuidgen printenv tput locale clear reset ping traceroute sw_vers logout suspend caller: - | | | free
hostname: - | sfidIA F:r | short fqdn file:r
who: r | abdHlmpqrstTuw | all
shuf: r | erz i:- n:- o:w | echo input-range:- head-count:- output:w random-source:r repeat zero-terminated
tr: - | cCdst | complement delete squeeze-repeats truncate-set1
date gdate: - | uRjn d:- s:- I:? v:- r:l f:i | utc universal date:- set:- iso-8601:?- rfc-email rfc-2822 rfc-3339:-
  reference:l debug resolution file:i
chmod gchmod: - w | cfvRrwxXstugoa0123456789 | changes quiet silent verbose preserve-root no-preserve-root recursive
  reference:l | rec=R,recursive
chown chgrp: - w | cfvRhHLP | changes quiet silent verbose dereference no-dereference from:- recursive reference:l |
  rec=R,recursive
chattr setfacl setfattr xattr: w | RVfvpbdkmxnsl | | rec=R
sha3sum xxhsum xxh64sum: r | |
pandoc: r | sSNViCM f:- t:- r:- w:- o:w c:- H:r B:r A:r V:- M:- T:- | from:- to:- read:- write:- output:w standalone
  toc wrap:- columns:- metadata:- variable:- css:-
pygmentize: r | gN l:- f:- O:- P:- o:w |
csvlook csvcut csvstat csvgrep in2csv xsv: r | nrilH c:- d:- m:- | columns:- delimiter:-
xmllint: r | | noout format xpath:- output:w html schema:r valid recover nonet c14n
"""


@cache
def specs() -> dict[str, str]:
    """The line of each program, by its name."""
    found: dict[str, str] = {}
    for entry in re.split(r"\n(?! )", _LINES.strip()):
        names, _, text = entry.partition(":")
        for name in names.split():
            found[name] = " ".join(text.split())
    return found
