"""What follows endings at their source (``then=``): its note in the store, who does it, and the actions there are."""

from airflow_coordination.follow_ups.doing import FollowedUp, follow_up, follow_up_all
from airflow_coordination.follow_ups.errors import FollowUpError, FollowUpNotAllowedError
from airflow_coordination.follow_ups.messages import DeleteMessages
from airflow_coordination.follow_ups.objects import DeleteObjects
from airflow_coordination.follow_ups.offsets import CommitOffsets
from airflow_coordination.follow_ups.protocol import Carried, SourceAction
from airflow_coordination.follow_ups.rights import FollowUpRights
from airflow_coordination.follow_ups.url import CallUrl

__all__ = [
    "CallUrl",
    "Carried",
    "CommitOffsets",
    "DeleteMessages",
    "DeleteObjects",
    "FollowUpError",
    "FollowUpNotAllowedError",
    "FollowUpRights",
    "FollowedUp",
    "SourceAction",
    "follow_up",
    "follow_up_all",
]
