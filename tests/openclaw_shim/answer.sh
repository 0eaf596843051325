# A stand-in for Python that works: notes the event down in the file $1, one line each, and answers it.
payload=$(cat)
printf '%s\n' "${payload%\}},\"by\":\"process\"}" >>"$1"
rest=${payload#*'"session_key":"'}
case $payload in
'{"hook_event_name":"bootstrap"'*)
  printf '{"files":[{"name":"APM.md","path":"apm/dm.md","content":"memory of %s\\n"}]}\n' "${rest%%\"*}" ;;
'{"hook_event_name":"prompt"'*) echo '{"context":"remember this"}' ;;
*) echo '{}' ;;
esac
