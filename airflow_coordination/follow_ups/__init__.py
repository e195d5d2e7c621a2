"""What follows endings (``then=``) and parkings (``on_parked``) at their source: notes, who does them, the actions."""

from airflow_coordination.follow_ups.doing import FollowedUp, follow_up, follow_up_all
from airflow_coordination.follow_ups.messages import DeleteMessages
from airflow_coordination.follow_ups.objects import DeleteObjects
from airflow_coordination.follow_ups.offsets import CommitOffsets
from airflow_coordination.follow_ups.rights import FollowUpRights
from airflow_coordination.follow_ups.url import CallUrl
from airflow_coordination.follow_ups.visibility import ShowMessages
from airflow_coordination.protocol.follow_up import Carried, FollowUpError, FollowUpNotAllowedError, SourceAction

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
    "ShowMessages",
    "SourceAction",
    "follow_up",
    "follow_up_all",
]
