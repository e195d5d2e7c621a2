"""Follow-ups of endings (``then=``) and parkings (``on_parked``) at their source: notes, who does them, actions."""

from airflow_coordination.duties.follow_ups import FollowedUp, follow_up, follow_up_all
from airflow_coordination.protocol.follow_up import Carried, FollowUpError, FollowUpNotAllowedError, SourceAction
from airflow_coordination.systems.http.call import CallUrl
from airflow_coordination.systems.kafka.offsets import CommitOffsets
from airflow_coordination.systems.objects.deletion import DeleteObjects
from airflow_coordination.systems.rights import FollowUpRights
from airflow_coordination.systems.sqs.deletion import DeleteMessages
from airflow_coordination.systems.sqs.visibility import ShowMessages

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
