"""A Telegram without Telegram: as much of the Bot API as the host's channel calls, with people who write to the bot."""

from __future__ import annotations

import itertools
import socket
import time
from dataclasses import dataclass

from ..claude import HostFailedError
from ..script import Json
from .endpoint import Endpoint, Exchange

TOKEN = "111:not-a-token"  # noqa: S105
BOT: Json = {"id": 111, "is_bot": True, "first_name": "Bot", "username": "harbour_bot"}
_LONGEST_POLL = 20.0
_EMPTY_LISTS = {"getmycommands", "getforumtopiciconstickers", "getchatadministrators"}


@dataclass(frozen=True, slots=True)
class Chat:
    """Where a message is written: a person's own chat with the bot, a group, or a topic of one (`topic` above 0)."""

    id: int
    topic: int = 0

    @property
    def is_group(self) -> bool:
        return self.id < 0

    def told(self) -> Json:
        """What the API says of it."""
        if not self.is_group:
            return {"id": self.id, "type": "private", "first_name": f"Person{self.id}"}
        return {"id": self.id, "type": "supergroup", "title": f"Room{-self.id}", "is_forum": bool(self.topic)}


@dataclass(frozen=True, slots=True)
class Sent:
    """A text that the bot sent."""

    chat: int
    topic: int
    text: str


class FakeTelegram(Endpoint):
    """The Bot API. `sent` is all that the bot wrote, in order; waiting for it is bounded by its callers."""

    def __init__(self, listening: socket.socket) -> None:
        super().__init__(listening)
        self.sent: list[Sent] = []
        self.calls: list[str] = []
        self._updates: list[Json] = []
        # A host keeps its place between two runs, and drops what has a lower number.
        self._update_numbers = itertools.count(int(time.time()))
        self._message_numbers = itertools.count(1000)

    def write(self, chat: Chat, sender: int, text: str) -> None:
        """A person writes to the bot, or into a group it sits in."""
        with self.changed:
            message: Json = {
                "message_id": next(self._message_numbers),
                "date": int(time.time()),
                "text": text,
                "chat": chat.told(),
                "from": {"id": sender, "is_bot": False, "first_name": f"Person{sender}", "username": f"p{sender}"},
            }
            if chat.topic:
                message |= {"message_thread_id": chat.topic, "is_topic_message": True}
            if text.startswith("/"):
                message["entities"] = [{"type": "bot_command", "offset": 0, "length": len(text.split(maxsplit=1)[0])}]
            self._updates.append({"update_id": next(self._update_numbers), "message": message})
            self.changed.notify_all()

    def texts_to(self, chat: Chat) -> list[str]:
        """What the bot wrote there so far."""
        with self.changed:
            return [each.text for each in self.sent if (each.chat, each.topic) == (chat.id, chat.topic)]

    def wait_for(self, chat: Chat, after: int, wanted: str, seconds: float) -> list[str]:
        """What the bot wrote there after its first `after` texts, once `wanted` stands in one of them."""
        end = time.monotonic() + seconds
        with self.changed:
            while True:
                new = self.texts_to(chat)[after:]
                if any(wanted in text for text in new):
                    return new
                if (left := end - time.monotonic()) <= 0:
                    raise HostFailedError(f"no {wanted!r} to {chat} in {seconds} s; it wrote {new}")
                self.changed.wait(left)

    def serve(self, exchange: Exchange, path: str, body: Json) -> None:
        method = path.rpartition("/")[2].lower()
        with self.changed:
            self.calls.append(method)
            self.changed.notify_all()
        if method == "getupdates":
            exchange.send({"ok": True, "result": self._poll(body)})
        elif method in ("sendmessage", "editmessagetext"):
            exchange.send({"ok": True, "result": self._keep(body)})
        elif method == "getchat":
            exchange.send({"ok": True, "result": Chat(int(body["chat_id"])).told()})
        else:
            fixed: Json = {"getme": BOT | {"can_join_groups": True, "can_read_all_group_messages": True}}
            fixed["getwebhookinfo"] = {"url": "", "has_custom_certificate": False, "pending_update_count": 0}
            exchange.send({"ok": True, "result": [] if method in _EMPTY_LISTS else fixed.get(method, True)})

    def _poll(self, body: Json) -> list[Json]:
        offset = int(body.get("offset") or 0)
        end = time.monotonic() + min(float(body.get("timeout") or 0), _LONGEST_POLL)
        with self.changed:
            while True:
                self._updates = [each for each in self._updates if each["update_id"] >= offset]
                left = end - time.monotonic()
                if self._updates or left <= 0 or self.closing:
                    return list(self._updates)
                self.changed.wait(left)

    def _keep(self, body: Json) -> Json:
        chat = Chat(int(body["chat_id"]), int(body.get("message_thread_id") or 0))
        text = str(body.get("text", ""))
        with self.changed:
            number = int(body.get("message_id") or next(self._message_numbers))
            self.sent.append(Sent(chat.id, chat.topic, text))
            self.changed.notify_all()
        topic = {"message_thread_id": chat.topic, "is_topic_message": True} if chat.topic else {}
        return {"message_id": number, "date": int(time.time()), "text": text, "chat": chat.told(), "from": BOT, **topic}
